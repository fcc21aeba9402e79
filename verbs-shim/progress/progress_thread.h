// Progress while the application makes none: READs and atomics of the peer are served, SENDs are matched, confirmations
// leave, completion events are raised and asynchronous events are fetched.
//
// While the application polls, the thread only looks from time to time whether it still does. Otherwise it sleeps on
// the MRC completion queue's channel: no processor time without traffic, but for a look once a second at peers that owe
// an answer. [VRB-PRG-1]
#pragma once

#include <atomic>
#include <thread>

#include "fd.h"

namespace mrc::shim {

class Context;

class ProgressThread {
 public:
  explicit ProgressThread(Context* context);
  ~ProgressThread();  // joins
  // A completion queue was armed: events are due at once. If the thread that slept last has armed it (`sleeper`), they
  // are due when it does not come back, and to look soon suffices.
  void wake(bool sleeper);
  // Work is left for which the MRC library raises no event, or another thread may take the event.
  void wake_if_asleep();

 private:
  void run();
  bool another_sleeps();
  void park(int ms, bool beside_sleeper);
  void sleep();
  void keep_alive();

  Context* const context_;
  const Fd event_;
  // Of the thread alone. [VRB-REQ-7]
  uint64_t check_at_ = 0;  // of the peers that owe an answer
  uint64_t waits_ = 0;     // of other threads, at the last look
  int rest_ms_ = 0;        // while they sleep
  bool check_due_ = true;  // there were some at the last check, or something has happened since
  std::atomic<bool> stopping_{false};
  std::atomic<bool> parked_{false};
  std::atomic<bool> looks_soon_{false};  // while parked beside a thread that sleeps
  std::atomic<bool> asleep_{false};      // or about to be
  std::thread thread_;
};

}  // namespace mrc::shim
