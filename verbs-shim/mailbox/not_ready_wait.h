// NotReadyWait: the peer has no receive request for a message, which may wait for one until a deadline. [VRB-RNR-1]
#pragma once

#include <cstdint>

#include "invariant.h"
#include "mailbox/link.h"
#include "mailbox/message_window.h"

namespace mrc::shim {

class NotReadyWait {
 public:
  explicit NotReadyWait(Link* link) : link_(link) {}

  void begin(uint64_t number, uint64_t deadline) {
    number_ = number;
    over_ = false;
    set_deadline(deadline);
  }
  // The message is answered, or nothing waits any more.
  void end() {
    over_ = false;
    set_deadline(UINT64_MAX);
  }
  // The deadline has passed.
  void expire(const MessageWindow& window) {
    over_ = window.outstanding(number_);
    set_deadline(UINT64_MAX);
  }
  uint64_t number() const { return number_; }      // of the last message that had to wait
  uint64_t deadline() const { return deadline_; }  // UINT64_MAX: none
  bool over() const { return over_; }              // it has passed, and the message is not answered yet
  void check() const { MRC_INVARIANT(!over_ || deadline_ == UINT64_MAX); }

 private:
  void set_deadline(uint64_t at) {
    const int before = deadline_ != UINT64_MAX, after = at != UINT64_MAX;
    deadline_ = at;
    if (before != after) link_->count_timer(after - before);
  }

  Link* const link_;
  uint64_t number_ = 0;
  uint64_t deadline_ = UINT64_MAX;
  bool over_ = false;  // requests before the message are not confirmed yet
};

}  // namespace mrc::shim
