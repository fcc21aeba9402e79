// NSCC, its gains [MRC-NSCC-3..5]: taken from the configuration or derived from line rate, base RTT and MTU against the
// reference network of 100 Gb/s and 12 us.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/congestion/nscc.h"

namespace mrc::core {
namespace nscc_gains {

inline constexpr double kReferenceBdp = 150000;  // bytes
inline constexpr double kReferenceRttNs = 12000;
inline constexpr double kTargetWithTrimming = 0.75;  // of R
inline constexpr int64_t kAdjustPackets = 8;
inline constexpr int64_t kLeastMeasuredPackets = 4;
inline constexpr int kQaGate = 3;
inline constexpr int kMaxQaGate = 62;

}  // namespace nscc_gains

template <class Rules>
int64_t BasicNscc<Rules>::to_ticks(Duration d) {
  constexpr int64_t per_ns = Rules::kTicksPerNs;
  return d.ns() > Duration::infinite().ns() / per_ns ? Duration::infinite().ns() : d.ns() * per_ns;
}

template <class Rules>
void BasicNscc<Rules>::configure(const NsccConfig& c) {
  disable_qa_ = c.disable_qa;
  trimming_ = c.trimming;
  sticky_ = c.sticky_qa_trigger;
  mtu_ = std::max<uint32_t>(c.mtu, 1);
  ack_bytes_ = c.ack_bytes;
  gamma_ = c.gamma >= 0 ? c.gamma : 0.8;
  max_md_jump_ = c.max_md_jump >= 0 ? c.max_md_jump : 0.5;
  qa_gate_ = static_cast<uint8_t>(c.qa_gate >= 0 ? std::min(c.qa_gate, nscc_gains::kMaxQaGate) : nscc_gains::kQaGate);
  adjust_bytes_ = c.adjust_bytes_threshold > 0 ? c.adjust_bytes_threshold : nscc_gains::kAdjustPackets * mtu_;
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
  bytes_per_tick_ = std::max(c.line_rate_bps, 1.0) / 8 / (1e9 * static_cast<double>(Rules::kTicksPerNs));
  derive(bytes_per_tick_ * static_cast<double>(r_));
}

template <class Rules>
void BasicNscc<Rules>::derive(double bdp) {
  bdp = Rules::bdp(bdp);
  const auto is_by_hand = [this](ByHand bit) { return (by_hand_ & bit) != 0; };
  const double a = bdp / nscc_gains::kReferenceBdp;
  const double unit = Rules::gain_mtu(mtu_) * a;
  if (!is_by_hand(kTarget)) {
    target_ = trimming_ ? static_cast<int64_t>(nscc_gains::kTargetWithTrimming * static_cast<double>(r_)) : r_;
  }
  if (target_ < target_floor_) {
    target_ = target_floor_;
    by_hand_ = static_cast<uint16_t>(by_hand_ | kRaisedByFloor);
  } else if (!is_by_hand(kTarget)) {
    by_hand_ = static_cast<uint16_t>(by_hand_ & ~kRaisedByFloor);
  }
  target_ = std::max<int64_t>(target_, 1);
  const double reference_rtt = nscc_gains::kReferenceRttNs * static_cast<double>(Rules::kTicksPerNs);
  const double b = static_cast<double>(target_) / reference_rtt;
  alpha_ = 4 * unit * b / static_cast<double>(target_);
  if (!is_by_hand(kFi)) fi_ = 5 * unit;
  if (!is_by_hand(kFiScale)) fi_scale_ = 0.25 * a;
  if (!is_by_hand(kEta)) eta_ = 0.15 * unit;
  if (!is_by_hand(kAdjustPeriod)) adjust_period_ = r_;
  if (!is_by_hand(kQaThreshold)) qa_threshold_ = Rules::qa_threshold(trimming_, r_, target_);
}

// 1.5 BDP; where the floor has raised T, enough for one flow to build up a delay of T [MRC-NSCC-5].
template <class Rules>
int64_t BasicNscc<Rules>::derived_max_wnd(int64_t base_rtt) const {
  int64_t window = Rules::largest_window(bytes_per_tick_, base_rtt);
  if (by_hand_ & kRaisedByFloor)
    window = std::max(window, static_cast<int64_t>(std::llround(bytes_per_tick_ * static_cast<double>(base_rtt) +
                                                                bytes_per_tick_ * static_cast<double>(target_))));
  return std::max<int64_t>(window, mtu_);
}

template <class Rules>
void BasicNscc<Rules>::set_measured(double line_rate_bps, Duration base_rtt) {
  if (base_rtt > Duration()) s_.base_rtt = r_ = std::max<int64_t>(to_ticks(base_rtt), 1);
  bytes_per_tick_ = std::max(line_rate_bps, 1.0) / 8 / (1e9 * static_cast<double>(Rules::kTicksPerNs));
  derive(bytes_per_tick_ * static_cast<double>(r_));
  if (by_hand_max_wnd()) return;
  const bool untouched = s_.cwnd == s_.max_wnd;
  // A rate is measured by what the window lets through: one of a single packet would never let more be seen.
  s_.max_wnd = std::max<int64_t>(derived_max_wnd(s_.base_rtt), nscc_gains::kLeastMeasuredPackets * mtu_);
  s_.cwnd = untouched ? s_.max_wnd : std::min(s_.cwnd, s_.max_wnd);
}

}  // namespace mrc::core
