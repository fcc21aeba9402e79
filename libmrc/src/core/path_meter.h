// PathMeter: measures the parameters of NSCC's gains for one peer: the rate of all planes together and the
// round trip of a full packet on idle paths [MRC-NSCC-26]. One per peer, fed by the SACKs of all QPs to it.
// Sans-IO; no allocation.
//
// Bytes delivered per time are the rate only while the sender had more to send all the time, and even then the window
// may have been the limit. So a sample may always raise the rate; it may lower it only when congestion control had cut
// the window below its largest value throughout: then a queue existed, and the delivered rate is that of the links.
// Without that rule a low estimate would make a small window, and the small window the next, lower estimate. For the
// same reason the rate is never below the largest sample of the last one to two seconds, of whichever kind. The round
// trip falls to the minimum observed. It rises above the assumed value only after so many samples and round trips that
// the queue of the beginning, which they may all have passed through, has drained under a target that was then too
// strict: else the windows of many QPs would keep the queue that they have made.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "invariant.h"

namespace mrc::core {

class PathMeter {
 public:
  // These apply until a measurement.
  PathMeter(double assumed_bps, Duration assumed_rtt) : rate_(assumed_bps), rtt_(assumed_rtt) {}

  // `nominal` bytes are reported as arrived.
  void on_delivered(uint32_t nominal) { bytes_ += nominal; }
  // A valid round trip of a full packet.
  void on_rtt(Instant now, Duration rtt);
  // After each SACK. `backlog`: its QP has more to send; `cut`: its window is below the maximum.
  void on_sack(Instant now, bool backlog, bool cut);

  // Incremented when rate() or rtt() has changed significantly.
  uint32_t generation() const { return generation_; }
  double rate_bps() const { return rate_; }
  Duration rtt() const { return rtt_; }
  void check() const { MRC_INVARIANT(rate_ > 0 && rtt_ > Duration()); }

 private:
  struct RoundTrips {
    Duration min = Duration::infinite();
    Instant first = Instant::never();
    uint32_t count = 0;  // saturates
  };
  void begin(Instant now);
  void on_sample(Instant now, double rate);

  double rate_;
  Duration rtt_;
  RoundTrips round_trips_;
  uint64_t bytes_ = 0;
  uint32_t sacks_ = 0;
  uint32_t generation_ = 0;
  bool running_ = false;
  bool always_cut_ = false;
  Instant began_, last_sack_, memory_began_;
  double best_ = 0, best_before_ = 0;  // of this second's samples and the last one's
};

}  // namespace mrc::core
