// The helper thread: makes progress while the application does not (spec/clients.md rule 1; spec/architecture.md,
// decision 8).
//
//   state    event (the descriptor that wakes the helper)                         next state
//   serves   no work for `spin`                                                   asleep
//            it is to park, see below, or the application holds the lock          parked
//   asleep   a packet (datapath), a deadline (timer)                              serves
//   parked   park_timer, a CQ is armed or another thread waits (event)            serves, or parks again
//            a poll, the end of a stand-in (none: they extend park_timer)         parked
//   each     a request, which is served (requests, links, daemon, shards)         the same
//            stop() (event)                                                       ended
//
// Datapath and timer also wake the stand-in, a thread of the application that waits in place of the helper
// (stand_in.h). Whether the helper is to park, the first row that applies decides:
//
//   a stand-in sleeps, or slept within `park`   parks; serves while another thread waits, or a CQ that one may wait for
//                                               is armed
//   a CQ is armed, or was within `park`         serves: a thread that sleeps in a completion channel does not poll
//   the application polled within `idle`        parks: two threads would alternate on one lock, and each packet would
//                                               cost a wake-up
//   none of these                               serves
//
// The helper takes over `idle` and four times `park`, its longest sleep (park_timer.h), after the last poll at the
// latest. `idle` covers the time for which a polling thread may wait for a processor: with 100 us four ranks on two
// cores lost a seventh of their bandwidth, eight a third.
//
// Tried for a helper that is needed while a program spins on memory or other work has the processors, and left out.
// Half round trips of 2 bytes, two cores, median of five runs quiet and of four beside four busy processes, in us:
//
//                                               ib_write_lat (spins)   ib_send_lat -e (sleeps)
//                                               quiet: p50, p99        quiet: p50, p99   loaded: p50, p99
//   as it is                                    7.2, 1193              59, 103           24, 561
//   a scheduler's slice of 100 us               7.6, 1309              54, 98            31, 1604
//   nice -10, which needs RLIMIT_NICE           6.8, 1151              60, 108           24, 534
//   sockets that poll busily for 50 us          8.1, 1603              57, 93            27, 1276
//
// Beside busy processes a program that spins had a p99 of 10 to 17 ms in every run, with each of them: turns of the
// scheduler. To be woken at a post would come to serving at every arrival, since a post sends by itself: so tried,
// loaded, ib_write_lat's p50 rose from 10 to 50 to 390 us, because the helper took the processor from the program.
// SCHED_BATCH is for threads that may wait longer, which neither the helper nor a program's thread may.
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/time.h"
#include "device/park_timer.h"
#include "device/stand_in.h"
#include "fd.h"
#include "result.h"
#include "wakeup.h"

namespace mrc::device {

struct HelperTiming {
  Duration idle;
  Duration park;
  Duration spin;  // polls for more work for this time before it sleeps
};

struct HelperView {
  Instant now;
  Instant last_poll;             // by the application
  Instant last_armed;            // a CQ was armed or found armed
  Instant last_stand_in_sleep;   // its end
  bool stand_in_sleeps = false;  // now
  bool armed = false;            // a CQ is
  // One that does not stand in, or more CQs are armed than those of the stand-in, or of the last one.
  bool other_thread_waits = false;
};

// Decides whether the helper parks now.
bool helper_parks(const HelperView& view, const HelperTiming& timing);

// The helper's calls to the device.
class HelperWork {
 public:
  static constexpr int kBusy = -1;
  // Progress under the device's lock; bursts moved, or kBusy: the application holds the lock and does the work itself.
  virtual int serve() = 0;
  // About to sleep while serving: under the device's lock, sets the time to wake with Helper::set_wake.
  virtual void going_to_sleep() = 0;
  virtual void woke_up() = 0;
  // `requests`, `daemon` or `shards` is readable: a tool, the daemon or another engine has a request. Must not block.
  virtual void serve_requests() = 0;
  // `links` is readable: the kernel has notifications about network interfaces.
  virtual void links_changed() = 0;

 protected:
  ~HelperWork() = default;
};

class Helper {
 public:
  Helper() = default;
  ~Helper() { stop(); }
  // `fds`: readable when there is work; `requests`, `daemon` and `shards`: on a request, `links`: on a notification
  // about links, all four also watched while parked; -1: none.
  Status start(HelperWork* work, const HelperTiming& timing, const std::vector<int>& fds, int requests = -1,
               int links = -1, int daemon = -1, int shards = -1);
  void stop();  // joins
  bool running() const { return thread_.joinable(); }

  // Called by the application's side; any thread.
  void note_poll(Instant now) {
    last_poll_.store(now.ns(), std::memory_order_relaxed);
    if (parked_.load(std::memory_order_relaxed)) park_timer_.extend(now);
  }
  void count_armed(int delta);
  bool armed() const { return armed_cqs_.load() > 0; }
  // Sets the time at which the sleeping helper wakes at the latest; device lock held.
  void set_wake(Instant now, Instant at);

 private:
  friend class StandIn;
  void run();
  int serve(Instant since);
  void park(Duration length);
  // Whether it must not sleep though it parks. Without an armed CQ it may: the application holds the lock.
  bool must_serve(const HelperView& view) const { return view.armed && !helper_parks(view, timing_); }
  void wake_parked();
  void wait(size_t first, size_t last, const timespec* max);
  HelperView view() const;
  void check() const;  // any thread

  HelperWork* work_ = nullptr;
  HelperTiming timing_;
  Fd timer_;  // when there is work
  Wakeup event_;
  ParkTimer park_timer_;
  enum : size_t { kParkTimer, kEvent, kRequests, kLinks, kDaemon, kShards, kTimer };
  static constexpr int kRoundsPerRequestCheck = 1024;  // of a helper that never sleeps
  static constexpr size_t kMaxDatapathFds = 8;
  std::vector<pollfd> fds_;  // our own, then the datapath's
  // Relaxed: an old time makes the helper park or serve once too often.
  std::atomic<int64_t> last_poll_{kLongAgoNs};
  std::atomic<int64_t> last_armed_{kLongAgoNs};
  // Sequentially consistent, as are others_ and sleeps_ of StandInState. The helper sets parked_ and then reads these
  // three, another thread changes one of the three and then reads parked_. So either the helper sees the change
  // before it sleeps, or the thread sees the helper parked, and wakes it or extends its sleep.
  std::atomic<int> armed_cqs_{0};
  std::atomic<bool> parked_{false};
  StandInState stand_in_{armed_cqs_};
  Instant timer_at_ = Instant::never();  // device lock
  std::atomic<bool> stopping_{false};
  std::atomic<bool> started_{false};  // from start() to stop()
  std::thread thread_;
};

}  // namespace mrc::device
