// Progress: receive, run due timers, send; in rounds, so that acknowledgements are sent while more data arrives, and
// bounded, so that a call returns under any load. Device lock.
//
// Time is read when packets were received, again when they have been handled, and after every burst that is sent: round
// trip times are measured as close to the socket as possible. A call that finds nothing reads it once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>

#include "base/store_choice.h"
#include "base/time.h"
#include "core/burst.h"
#include "device/clock.h"
#include "device/device_lock.h"
#include "device/engine.h"
#include "device/held_bursts.h"
#include "device/sleep_time.h"

namespace mrc::device {

class Progress {
 public:
  Progress(Engine* engine, Helper* helper, const Clock& clock);

  // Bursts moved; 0: there was nothing.
  int receive_and_send(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // Packets that may be sent now, without polling for received ones.
  int transmit(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // Has no effect from now on.
  void end() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { ended_ = true; }

  Instant moved_until() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    return moved_until_;
  }  // the last time read by the calls above
  Instant last_received() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return last_rx_; }
  // When there is something to do next, if nothing arrives.
  Instant deadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  SleepTime& sleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return sleep_; }

  // Runs `body`, a call of the engine or of the datapath; false when memory ran out in it. The engine is consistent
  // then: the packet in hand counts as lost, and timers and transmissions are repeated after kMemoryWait [API-ERR-3].
  template <typename Body>
  bool attempt(const Body& body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    try {
      body();
      return true;
    } catch (const std::bad_alloc&) {
      engine_.endpoint->count_out_of_memory();
      not_before_ = clock_.now() + kMemoryWait;
      return false;
    }
  }

 private:
  static constexpr int kRxBatch = 8;    // bursts received at once
  static constexpr int kTxBatch = 4;    // bursts sent before the sockets are polled again
  static constexpr int kTxAtPost = 16;  // bursts sent by the thread that posts
  static constexpr int kSingles = 32;   // of each of these, where a burst is one packet
  static constexpr int kRounds = 8;     // of receiving and sending in one call
  static constexpr Duration kMaxTimerDelay =
      Duration::milliseconds(2);  // maximum time that timers wait for the sockets to be empty
  static constexpr Duration kMemoryWait = Duration::milliseconds(1);  // after memory ran out
  static constexpr uint64_t kSlowPlacement = 1000;                    // see StoreChoice; with all that the engine does

  int batch(int bursts) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    return engine_.datapath->max_segments() == 1 ? kSingles : bursts;
  }
  int receive(Instant* now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // One burst. Payload is placed by the stores that suit where its readers run.
  void handle(Instant now, core::RxBurst* burst) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  int send(int max, Instant* now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void run_timers(Instant now, bool drained) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void note_time(Instant now, Instant slept_until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void finish(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  Engine& engine_;
  const Clock& clock_;
  SleepTime sleep_ ABSL_GUARDED_BY(device_lock);
  bool ended_ ABSL_GUARDED_BY(device_lock) = false;
  bool more_to_send_ ABSL_GUARDED_BY(device_lock) = false;
  Instant last_rx_ ABSL_GUARDED_BY(device_lock) = kLongAgo;
  Instant moved_until_ ABSL_GUARDED_BY(device_lock) = kLongAgo;
  Instant not_before_ ABSL_GUARDED_BY(device_lock) = kLongAgo;  // timers and transmissions
  StoreChoice stores_ ABSL_GUARDED_BY(device_lock){kSlowPlacement};
  HeldBursts held_ ABSL_GUARDED_BY(device_lock);
  std::array<core::RxBurst, kSingles> rx_ ABSL_GUARDED_BY(device_lock);
  core::TxBurst tx_ ABSL_GUARDED_BY(device_lock);
  const std::unique_ptr<uint8_t[]> staging_memory_;
  uint8_t* const staging_;  // of tx_
};

}  // namespace mrc::device
