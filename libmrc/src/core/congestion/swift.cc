#include "core/congestion/swift.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/congestion/registry.h"

namespace mrc::core {
namespace {

// Published constants; the paper's delays are absolute, those here follow the base RTT.
constexpr double kAi = 1.0;  // packets per round trip
constexpr double kBeta = 0.8;
constexpr double kMaxMdf = 0.5;
constexpr double kFsMinCwnd = 0.1;
constexpr double kFsMaxCwnd = 100;
constexpr int kRetxThreshold = 5;
constexpr int kHops = 4;
constexpr int kHopShare = 8;  // of the base RTT, per hop
constexpr int kFsShare = 5;   // times the base RTT
constexpr int64_t kMinMeasuredPackets = 4;
constexpr double kFloor = 1;  // packets

using Unit = CongestionUnit;
constexpr CongestionParameter kSwiftParameters[] = {
    {"base_target", Unit::kTime, 0, 1e9, "0: the base round trip", "part of the target that every path has"},
    {"hop_target", Unit::kTime, 0, 1e9, "0: base round trip / 8", "part of the target per hop"},
    {"hops", Unit::kCount, 0, 64, "4", "queues on the longest path"},
    {"fs_range", Unit::kTime, 0, 1e9, "0: 5 base round trips", "scale of the part for small windows"},
    {"fs_min_cwnd", Unit::kNumber, 0.001, 1e6, "0.1", "window with the whole of fs_range, packets"},
    {"fs_max_cwnd", Unit::kNumber, 0.001, 1e6, "100", "window from which on there is none, packets"},
    {"ai", Unit::kNumber, 0, 1e6, "1", "packets that are added per round trip"},
    {"beta", Unit::kNumber, 0, 1, "0.8", "strength of the decrease"},
    {"max_mdf", Unit::kNumber, 0, 1, "0.5", "largest part of the window that one decrease takes"},
    {"max_cwnd", Unit::kBytes, 0, 1099511627776, "0: derived", "largest window"},
    {"retx_threshold", Unit::kCount, 1, 1000, "5", "timeouts in a row after which the window is one packet"},
};

Duration times(Duration d, double factor) {
  return Duration::nanoseconds(static_cast<int64_t>(static_cast<double>(d.ns()) * factor));
}

}  // namespace

Swift::Parameters Swift::read(const CongestionConfig& c, const CongestionFlow& flow) {
  Parameters p;
  p.base_target = c.get_time("base_target");
  p.hop_target = c.get_time("hop_target");
  p.fs_range = c.get_time("fs_range");
  p.host_jitter = c.host_jitter;
  p.ai = c.get("ai", kAi);
  p.beta = c.get("beta", kBeta);
  p.max_mdf = c.get("max_mdf", kMaxMdf);
  p.max_cwnd = static_cast<int64_t>(c.get("max_cwnd", 0));
  p.hops = static_cast<uint32_t>(c.get("hops", kHops));
  p.retx_threshold = static_cast<uint32_t>(c.get("retx_threshold", kRetxThreshold));
  p.mtu = std::max<uint32_t>(flow.mtu, 1);
  p.ack_bytes = flow.ack_bytes;
  const double low = 1 / std::sqrt(c.get("fs_min_cwnd", kFsMinCwnd));
  const double high = 1 / std::sqrt(c.get("fs_max_cwnd", kFsMaxCwnd));
  if (low > high) {  // else no window is between the two
    p.fs_alpha = 1 / (low - high);
    p.fs_beta = -p.fs_alpha * high;
  }
  return p;
}

Swift::Swift(const CongestionConfig& c, const CongestionFlow& flow, Instant)
    : last_rtt_(c.base_rtt), base_rtt_(c.base_rtt), line_rate_bps_(c.line_rate_bps), p_(read(c, flow)) {
  derive();
  packets_ = max_packets();
}

// [MRC-CC-21]
Duration Swift::path_target() const {
  const Duration base = p_.base_target > Duration() ? p_.base_target : base_rtt_;
  const Duration hop = p_.hop_target > Duration() ? p_.hop_target : base_rtt_ / kHopShare;
  return base + std::max(hop * p_.hops, p_.host_jitter);
}

// [MRC-CC-22]
Duration Swift::target_delay(double packets) const {
  const Duration range = p_.fs_range > Duration() ? p_.fs_range : base_rtt_ * kFsShare;
  return path_target() + times(range, std::clamp(p_.fs_alpha / std::sqrt(packets) + p_.fs_beta, 0.0, 1.0));
}

// The maximum window is the amount that the line rate delivers in the target of a large flow [MRC-CC-24].
void Swift::derive() {
  const double delivered = line_rate_bps_ / 8e9 * static_cast<double>(path_target().ns());
  max_wnd_ = std::max<int64_t>(p_.max_cwnd > 0 ? p_.max_cwnd : std::llround(delivered), p_.mtu);
}

// [MRC-CC-15]
void Swift::on_measured(double line_rate_bps, Duration base_rtt) {
  const bool untouched = packets_ >= max_packets();
  line_rate_bps_ = std::max(line_rate_bps, 1.0);
  if (base_rtt > Duration()) base_rtt_ = base_rtt;
  derive();
  // A rate is measured through the window: a window of a single packet would never measure a higher one.
  if (p_.max_cwnd == 0) max_wnd_ = std::max<int64_t>(max_wnd_, kMinMeasuredPackets * p_.mtu);
  packets_ = untouched ? max_packets() : std::min(packets_, max_packets());
}

void Swift::limit(int64_t window) {
  packets_ = std::min(packets_, std::max(static_cast<double>(window) / p_.mtu, double{kMinMeasuredPackets}));
}

void Swift::on_ack(Instant now, const AckSample& s) {
  const int64_t new_bytes = advance_rcvd_bytes(s.rcvd_bytes_24, &last_rcvd_);
  inflight_ -= new_bytes;
  steps_ = 0;
  if (new_bytes > 0) retx_count_ = 0;
  const double acked = static_cast<double>(new_bytes) / p_.mtu;
  if (s.rcv_cwnd_pen > 0) {  // [MRC-CC-27]
    mark(kStepPenalty);
    packets_ = std::max(kFloor, packets_ - acked * (s.rcv_cwnd_pen & 0x7F) / 128);
  }
  if (!s.rtt) return mark(kStepNoSample);
  last_rtt_ = *s.rtt;
  if (s.may_lower_base && *s.rtt < base_rtt_) {
    base_rtt_ = std::max(*s.rtt, Duration::nanoseconds(1));
    derive();
  }
  const Duration target = target_delay(packets_);
  if (*s.rtt < target) {  // [MRC-CC-20]
    if (s.rcv_cwnd_pen > 0) return;
    mark(kStepFair);
    packets_ = std::min(packets_ + p_.ai / packets_ * acked, std::max(max_packets(), kFloor));
    return;
  }
  // [MRC-CC-23]
  mark(kStepDecreaseAsked);
  if (!may_decrease(now)) return;
  const auto delay = static_cast<double>(s.rtt->ns());
  decrease(now, 1 - p_.beta * (delay - static_cast<double>(target.ns())) / delay, kStepDecreaseCut);
}

void Swift::decrease(Instant now, double kept, WindowStep step) {
  mark(step);
  packets_ = std::max(kFloor, packets_ * std::max(kept, 1 - p_.max_mdf));
  last_decrease_ = now;
}

void Swift::cut(Instant now, WindowStep step) {
  if (may_decrease(now)) decrease(now, 1 - p_.max_mdf, step);
}

// [MRC-CC-25]
void Swift::on_nack(Instant now, const NackSample& s) {
  steps_ = 0;
  inflight_ -= s.nominal;
  if (!s.trimmed) return;
  retx_count_ = 0;
  cut(now, kStepTrimCut);
}

// [MRC-CC-25] [MRC-CC-26]
void Swift::on_loss(Instant now, uint32_t nominal, LossCause cause) {
  steps_ = 0;
  inflight_ -= nominal;
  if (cause == LossCause::kOvertaken) {
    retx_count_ = 0;
    return cut(now, kStepLossCut);
  }
  if (now - last_timeout_ >= last_rtt_) {  // packets of one flight time out one after the other
    ++retx_count_;
    last_timeout_ = now;
  }
  if (retx_count_ < p_.retx_threshold) return cut(now, kStepLossCut);
  mark(kStepLossCut);
  packets_ = kFloor;
  last_decrease_ = now;
}

const CongestionAlgorithm kSwiftAlgorithm = {
    "swift", "swift", "delay-based, after Kumar et al., SIGCOMM 2020", kSwiftParameters,
    [](const CongestionConfig& config, const CongestionFlow& flow, Instant now) -> std::unique_ptr<CongestionControl> {
      return std::make_unique<Swift>(config, flow, now);
    }};

}  // namespace mrc::core
