// AnsweredMessages: how many messages of the peer are answered, and the peer has the answers. Only then may MRC refuse
// a request that came behind them, since the refusal ends the queue pair. [MRC-MBX-2]
#pragma once

#include <cstdint>

#include "invariant.h"

namespace mrc::shim {

class AnsweredMessages {
 public:
  void on_message() { ++arrived_; }
  // Nothing is owed for those that have arrived: the answers, which are signalled, are among the first `posted`
  // requests to MRC.
  void on_served(uint64_t posted) {
    if (served_ == arrived_) return;
    served_ = arrived_;
    posted_ = posted;
  }
  // MRC has completed `completed` of its requests. True: count() has risen.
  bool on_completed(uint64_t completed) {
    if (count_ == served_ || completed < posted_) return false;
    count_ = served_;
    check();
    return true;
  }
  uint32_t count() const { return count_; }
  void reset() { *this = AnsweredMessages(); }
  // Numbers of messages may wrap.
  void check() const { MRC_INVARIANT(arrived_ - served_ <= arrived_ - count_); }

 private:
  uint32_t arrived_ = 0;
  uint32_t served_ = 0;  // nothing is owed for so many of them
  uint64_t posted_ = 0;  // requests to MRC by then
  uint32_t count_ = 0;
};

}  // namespace mrc::shim
