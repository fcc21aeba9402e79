#include "core/path_meter.h"

#include <algorithm>

namespace mrc::core {
namespace {
constexpr Duration kSpan = Duration::milliseconds(4);       // of one sample
constexpr Duration kPause = Duration::milliseconds(2);      // a silence that invalidates it
constexpr Duration kMemory = Duration::milliseconds(1000);  // time for which the largest sample counts, up to twice
constexpr uint32_t kMinSacks = 16;
constexpr uint32_t kRttsToRaise = 256;
constexpr int64_t kRoundTripsToRaise = 16;
constexpr double kMatters = 0.125;  // a smaller change of the rate is noise
}  // namespace

void PathMeter::on_rtt(Instant now, Duration rtt) {
  RoundTrips& seen = round_trips_;
  seen.min = std::min(seen.min, rtt);
  seen.first = std::min(seen.first, now);
  if (seen.count < kRttsToRaise) ++seen.count;
  const bool falls = seen.min < rtt_ - rtt_ / 8;
  const bool was_too_low =
      seen.count == kRttsToRaise && seen.min > rtt_ && seen.first + seen.min * kRoundTripsToRaise <= now;
  if (!falls && !was_too_low) return;
  rtt_ = seen.min;
  ++generation_;
}

void PathMeter::begin(Instant now) {
  began_ = now;
  bytes_ = 0;
  sacks_ = 0;
  running_ = always_cut_ = true;
}

void PathMeter::on_sack(Instant now, bool backlog, bool cut) {
  const bool paused = now - last_sack_ > kPause;
  last_sack_ = now;
  if (paused || !backlog) {
    running_ = false;
    return;
  }
  if (!running_) return begin(now);
  always_cut_ = always_cut_ && cut;
  const Duration span = now - began_;
  if (++sacks_ < kMinSacks || span < kSpan) return;
  // SACKs that report nothing new, as behind a window that the receiver has closed, measure no link.
  if (bytes_ != 0) on_sample(now, static_cast<double>(bytes_) * 8e9 / static_cast<double>(span.ns()));
  begin(now);
}

void PathMeter::on_sample(Instant now, double rate) {
  if (now - memory_began_ > kMemory) {
    best_before_ = best_;
    best_ = 0;
    memory_began_ = now;
  }
  best_ = std::max(best_, rate);
  if (!always_cut_ && rate <= rate_) return;
  const double known = std::max(best_, best_before_);
  if (known > rate_ * (1 + kMatters) || known < rate_ * (1 - kMatters)) {
    rate_ = known;
    ++generation_;
  }
}

}  // namespace mrc::core
