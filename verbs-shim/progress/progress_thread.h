// Progress while the application makes none: READs and atomics of the peer are served, SENDs are matched, confirmations
// leave, completion events are raised and asynchronous events are fetched.
//
// While the application polls, the thread only looks from time to time whether it still does. Otherwise it sleeps on
// the MRC completion queue's channel: no processor time without traffic, but for a look once a second at peers that owe
// an answer. [VRB-PRG-1]
#pragma once

#include <atomic>
#include <thread>

#include "wakeup.h"

namespace mrc::shim {

class Context;

class ProgressThread {
 public:
  explicit ProgressThread(Context* context);
  ~ProgressThread();  // joins
  // A completion queue was armed: events are due at once. `sleeper`: it was armed by the thread that slept last, which
  // most likely sleeps again and pumps itself, so that the end of a short park suffices.
  void wake(bool sleeper);
  // Work is left for which the MRC library raises no event, or another thread may take the event.
  void wake_if_asleep();

 private:
  void run();
  bool another_thread_sleeps();
  void park(int ms, bool beside_sleeper);
  void sleep();
  void keep_alive();

  Context* const context_;
  const Wakeup event_;
  // Of the thread alone. [VRB-REQ-7]
  uint64_t check_at_ = 0;    // when peers without an answer are tested next
  uint64_t waits_ = 0;       // ApplicationActivity::waits() at the last check
  int sleeper_park_ms_ = 0;  // next park while another thread sleeps
  bool check_due_ = true;    // there were such peers at the last test, or something has happened since
  std::atomic<bool> stopping_{false};
  std::atomic<bool> parked_{false};
  std::atomic<bool> park_is_short_{false};  // while parked beside a thread that sleeps
  std::atomic<bool> asleep_{false};         // or about to be
  std::thread thread_;
};

}  // namespace mrc::shim
