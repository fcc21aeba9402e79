// NSCC, its gains [MRC-NSCC-3..5]: taken from the configuration or derived from line rate, base RTT and MTU against the
// reference network of 100 Gb/s and 12 us.
#include <algorithm>
#include <cmath>

#include "core/nscc.h"

namespace mrc::core {
namespace {

constexpr double kReferenceBdp = 150000;  // bytes
constexpr double kReferenceRttNs = 12000;
constexpr double kTargetWithTrimming = 0.75;  // of R
constexpr double kWindowOfBdp = 1.5;
constexpr int64_t kAdjustPackets = 8;
constexpr int64_t kLeastMeasuredPackets = 4;
constexpr int kQaGate = 3;
constexpr int kMaxQaGate = 62;

enum ByHand : uint16_t {
  kMaxWnd = 1 << 0,
  kTarget = 1 << 1,
  kFi = 1 << 2,
  kFiScale = 1 << 3,
  kEta = 1 << 4,
  kQaThreshold = 1 << 5,
  kAdjustPeriod = 1 << 6,
  kRaisedByFloor = 1 << 7,  // not by hand: T was below the floor
};

}  // namespace

int64_t Nscc::to_ticks(Duration d) const {
  const int64_t per_ns = ticks_per_ns();
  return d.ns() > Duration::infinite().ns() / per_ns ? Duration::infinite().ns() : d.ns() * per_ns;
}

bool Nscc::by_hand_max_wnd() const {
  return (by_hand_ & kMaxWnd) != 0;
}

void Nscc::configure(const NsccConfig& c) {
  mode_ = c.mode;
  disabled_ = c.disabled;
  disable_qa_ = c.disable_qa;
  trimming_ = c.trimming;
  sticky_ = c.sticky_qa_trigger || c.mode == NsccMode::kHtsim;
  mtu_ = std::max<uint32_t>(c.mtu, 1);
  ack_bytes_ = c.ack_bytes;
  gamma_ = c.gamma >= 0 ? c.gamma : 0.8;
  max_md_jump_ = c.max_md_jump >= 0 ? c.max_md_jump : 0.5;
  qa_gate_ = static_cast<uint8_t>(c.qa_gate >= 0 ? std::min(c.qa_gate, kMaxQaGate) : kQaGate);
  adjust_bytes_ = c.adjust_bytes_threshold > 0 ? c.adjust_bytes_threshold : kAdjustPackets * mtu_;
  target_floor_ = std::max<int64_t>(to_ticks(c.target_delay_floor), 0);
  const auto take = [this](bool set, ByHand bit) {
    if (set) by_hand_ = static_cast<uint16_t>(by_hand_ | bit);
    return set;
  };
  take(c.max_cwnd > 0, kMaxWnd);
  if (take(c.target_delay.ns() > 0, kTarget)) target_ = to_ticks(c.target_delay);
  if (take(c.fi >= 0, kFi)) fi_ = c.fi;
  if (take(c.fi_scale >= 0, kFiScale)) fi_scale_ = c.fi_scale;
  if (take(c.eta >= 0, kEta)) eta_ = c.eta;
  if (take(c.qa_threshold.ns() > 0, kQaThreshold)) qa_threshold_ = to_ticks(c.qa_threshold);
  if (take(c.adjust_period_threshold.ns() > 0, kAdjustPeriod)) adjust_period_ = to_ticks(c.adjust_period_threshold);
  r_ = std::max<int64_t>(to_ticks(c.base_rtt), 1);
  bytes_per_tick_ = std::max(c.line_rate_bps, 1.0) / 8 / (1e9 * static_cast<double>(ticks_per_ns()));
  derive(bytes_per_tick_ * static_cast<double>(r_));
}

void Nscc::derive(double bdp) {
  const bool htsim = mode_ == NsccMode::kHtsim;
  if (htsim) bdp = std::floor(bdp + 1e-6);
  const auto is_by_hand = [this](ByHand bit) { return (by_hand_ & bit) != 0; };
  const double a = bdp / kReferenceBdp;
  const double unit = (htsim ? mtu_ - kHtsimHeader : mtu_) * a;  // D7
  if (!is_by_hand(kTarget)) {
    target_ = trimming_ ? static_cast<int64_t>(kTargetWithTrimming * static_cast<double>(r_)) : r_;
  }
  if (target_ < target_floor_) {
    target_ = target_floor_;
    by_hand_ = static_cast<uint16_t>(by_hand_ | kRaisedByFloor);
  } else if (!is_by_hand(kTarget)) {
    by_hand_ = static_cast<uint16_t>(by_hand_ & ~kRaisedByFloor);
  }
  target_ = std::max<int64_t>(target_, 1);
  const double reference_rtt = kReferenceRttNs * static_cast<double>(ticks_per_ns());
  const double b = static_cast<double>(target_) / reference_rtt;
  alpha_ = 4 * unit * b / static_cast<double>(target_);
  if (!is_by_hand(kFi)) fi_ = 5 * unit;
  if (!is_by_hand(kFiScale)) fi_scale_ = 0.25 * a;
  if (!is_by_hand(kEta)) eta_ = 0.15 * unit;
  if (!is_by_hand(kAdjustPeriod)) adjust_period_ = r_;
  if (!is_by_hand(kQaThreshold)) {
    const int64_t span = htsim ? target_ : std::max(r_, target_);
    qa_threshold_ = trimming_ && !htsim ? Duration::infinite().ns() : 4 * span;  // D6
  }
}

// 1.5 BDP; where the floor has raised T, enough for one flow to build up a delay of T [MRC-NSCC-5].
int64_t Nscc::derived_max_wnd(int64_t base_rtt) const {
  if (mode_ == NsccMode::kHtsim) {
    // In this order of operations the rounding of the doubles is the simulator's, to the byte.
    const double bps = std::round(bytes_per_tick_ * 8e12);
    return static_cast<int64_t>(kWindowOfBdp * std::trunc(static_cast<double>(base_rtt) / 1e6 * bps / 8e6));
  }
  const double bdp = bytes_per_tick_ * static_cast<double>(base_rtt);
  double window = kWindowOfBdp * bdp;
  if (by_hand_ & kRaisedByFloor) window = std::max(window, bdp + bytes_per_tick_ * static_cast<double>(target_));
  return std::max<int64_t>(std::llround(window), mtu_);
}

void Nscc::set_measured(double line_rate_bps, Duration base_rtt) {
  if (base_rtt > Duration()) s_.base_rtt = r_ = std::max<int64_t>(to_ticks(base_rtt), 1);
  bytes_per_tick_ = std::max(line_rate_bps, 1.0) / 8 / (1e9 * static_cast<double>(ticks_per_ns()));
  derive(bytes_per_tick_ * static_cast<double>(r_));
  if (by_hand_max_wnd()) return;
  const bool untouched = s_.cwnd == s_.max_wnd;
  // A rate is measured by what the window lets through: one of a single packet would never let more be seen.
  s_.max_wnd = std::max<int64_t>(derived_max_wnd(s_.base_rtt), kLeastMeasuredPackets * mtu_);
  s_.cwnd = untouched ? s_.max_wnd : std::min(s_.cwnd, s_.max_wnd);
}

Nscc Nscc::recorded(const Recorded& start) {
  NsccConfig c;
  c.mode = NsccMode::kHtsim;
  c.mtu = start.mtu;
  c.trimming = start.trimming;
  Nscc n;
  n.configure(c);
  n.r_ = start.base_rtt;
  if (start.target > 0) {
    n.by_hand_ = kTarget;
    n.target_ = start.target;
  }
  // The recorded BDP is whole bytes; the rate that it stands for is a whole number of Gb/s where one fits.
  const double gbps = static_cast<double>(start.bdp) * 8000 / static_cast<double>(start.base_rtt);
  const double whole = std::round(gbps);
  const bool fits = std::fabs(whole - gbps) <= 2 * 8000.0 / static_cast<double>(start.base_rtt);
  n.bytes_per_tick_ = (fits ? whole : gbps) / 8000;
  n.derive(static_cast<double>(start.bdp));
  n.s_.base_rtt = start.base_rtt;
  n.s_.max_wnd = start.max_wnd;
  n.s_.cwnd = start.cwnd;
  return n;
}

}  // namespace mrc::core
