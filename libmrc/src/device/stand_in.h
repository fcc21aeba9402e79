// A stand-in: a thread of the application that waits in a call of this library. Besides its own descriptors it sleeps
// on the helper's timer and those of the datapath, so that a packet costs one wake-up and not two (helper.h).
//
//   begins   one at a time, and none while another thread waits, or may wait for an armed CQ: those need the helper
//   sleeps   the helper parks without an end, because the stand-in must come back
//   ends     extends the helper's sleep: after `park` without a stand-in the helper decides as if there had been none
//
// Another thread that waits meanwhile (count_other) or arms a CQ (Helper::count_armed) wakes the parked helper, which
// serves beside the stand-in.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace mrc::device {

class Helper;

// What helper and application know about stand-ins. Any thread.
class StandInState {
 public:
  // `armed_cqs`: how many there are, those of the stand-in included.
  explicit StandInState(const std::atomic<int>& armed_cqs) : armed_cqs_(armed_cqs) {}

  // The calling thread stands in; `own_cqs`: the armed ones that only it waits for. False: it cannot.
  bool begin(int own_cqs);
  void end(Instant now);
  void count_other(int by) { others_.fetch_add(by); }  // threads that wait and do not stand in

  bool sleeps() const { return sleeps_.load(); }
  Instant last_sleep() const { return Instant::from_ns(last_sleep_.load(std::memory_order_relaxed)); }  // its end
  // Or may wait: more CQs are armed than those of the stand-in, or of the last one.
  bool other_thread_waits() const {
    return others_.load() > 0 || armed_cqs_.load() > own_cqs_.load(std::memory_order_relaxed);
  }
  bool is_calling_thread() const;  // stands in, or was the last one to do so

 private:
  // begin() looks for other threads before it sets sleeps_. A thread that starts to wait in between wakes the helper,
  // as a later one does, and the helper sees it here: Helper::parked_ has the order.
  const std::atomic<int>& armed_cqs_;
  std::atomic<int> others_{0};
  std::atomic<bool> sleeps_{false};
  // Of the stand-in, or the last one. Relaxed: as long as the helper reads an old own_cqs_, the stand-in makes progress
  // for all. A thread compares thread_ only with its own mark, which no other thread stores.
  std::atomic<int> own_cqs_{0};
  std::atomic<const void*> thread_{nullptr};
  std::atomic<int64_t> last_sleep_{kLongAgoNs};  // stored before the end: a helper that sees the end sees its time
};

// Stands in for the helper for as long as it lives. Any thread; not a cancellation point but for wait().
class StandIn {
 public:
  // For wait() with `n` descriptors. `own_cqs`: the armed CQs that only this thread waits for.
  StandIn(Helper* helper, size_t n, int own_cqs) : helper_(*helper), stands_in_(n <= kMaxFds && begin(own_cqs)) {
    if (!stands_in_) count_other(1);
  }
  ~StandIn() { stands_in_ ? end() : count_other(-1); }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  // False: there is no helper, another thread waits or may wait for a CQ, or there is nothing to sleep on. The helper
  // serves.
  explicit operator bool() const { return stands_in_; }
  // As ppoll(2), until `until` at the latest; `work`: the device has some, or it is that late.
  int wait(pollfd* fds, size_t n, const timespec* max, Instant until, bool* work) const;
  static constexpr size_t kMaxFds = 4;

 private:
  bool begin(int own_cqs);
  void end();
  void count_other(int by);

  Helper& helper_;
  const bool stands_in_;
};

}  // namespace mrc::device
