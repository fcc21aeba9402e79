// SleepTime: until when the thread that waits for packets sleeps: the helper, its stand-in, for a moment both. The
// calls of the application may need it earlier. Device lock.
#pragma once

#include <algorithm>

#include "base/time.h"
#include "device/helper.h"
#include "invariant.h"

namespace mrc::device {

class SleepTime {
 public:
  explicit SleepTime(Helper* helper) : helper_(*helper) {}

  bool asleep() const { return wake_at_ != kAwake; }
  bool both_sleep() const { return sleepers_ > 1; }
  // The time that a sleep ends or has ended, if it was no interruption: no thread was to run before.
  Instant end() const { return asleep() ? wake_at_ : slept_until_; }

  void begin(Instant until) {
    ++sleepers_;
    wake_at_ = until;
    check();
  }
  // False: the other one sleeps until the same time, and may not have seen the timer expire.
  bool finish(Instant now) {
    if (--sleepers_ > 0) {
      helper_.set_wake(now, wake_at_);
      check();
      return false;
    }
    slept_until_ = std::min(wake_at_, now);
    wake_at_ = kAwake;
    check();
    return true;
  }
  // When the application's calls set an earlier deadline the timer is moved, but not to before the application's next
  // expected call: one system call at the first of many calls, and no wake-up of another thread.
  void advance(Instant now, Instant wanted) {
    const Instant at = std::max(wanted, now + kNextCall);
    if (wanted >= wake_at_ || at >= wake_at_) return;
    wake_at_ = at;
    helper_.set_wake(now, at);
  }
  void forget() { wake_at_ = kAwake; }  // the helper has ended
  void check() const {
    MRC_INVARIANT(sleepers_ >= 0 && sleepers_ <= kMaxSleepers);
    MRC_INVARIANT(!asleep() || sleepers_ > 0);
  }

 private:
  static constexpr Instant kAwake = kLongAgo;  // neither thread sleeps, or the helper has ended
  static constexpr int kMaxSleepers = 2;
  static constexpr Duration kNextCall = Duration::microseconds(100);  // a polling application polls again within this

  Helper& helper_;
  Instant slept_until_ = kLongAgo;  // the helper, before it woke up
  Instant wake_at_ = kAwake;
  int sleepers_ = 0;
};

}  // namespace mrc::device
