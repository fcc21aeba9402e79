// SendBuffer: text that a client has not been sent yet, in two parts: what is being sent, whose place must not change
// meanwhile, and what has been added since then.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "invariant.h"

namespace mrc::mrcd {

class SendBuffer {
 public:
  void add(std::string_view text) { waiting_ += text; }
  size_t unsent() const { return waiting_.size() + sending_.size() - sent_; }

  // What is to be sent now; empty: nothing. Valid until the next call, or clear().
  std::string_view next() {
    if (sent_ == sending_.size()) {
      sending_ = std::exchange(waiting_, std::string());
      sent_ = 0;
    }
    return std::string_view(sending_).substr(sent_);
  }
  // The first `bytes` of it were sent.
  void note_sent(size_t bytes) {
    MRC_INVARIANT(bytes <= sending_.size() - sent_);
    sent_ += bytes;
  }

  // Discards what is not being sent.
  void clear_waiting() { waiting_.clear(); }
  // Discards all. Not while it is being sent.
  void clear() {
    waiting_.clear();
    sending_.clear();
    sent_ = 0;
  }

 private:
  std::string waiting_, sending_;
  size_t sent_ = 0;  // bytes of sending_
};

}  // namespace mrc::mrcd
