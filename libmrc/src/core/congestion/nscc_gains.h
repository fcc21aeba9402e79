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
inline constexpr int64_t kMinMeasuredPackets = 4;
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
  g_.disable_qa = c.disable_qa;
  g_.trimming = c.trimming;
  g_.sticky = c.sticky_qa_trigger;
  g_.mtu = std::max<uint32_t>(c.mtu, 1);
  g_.ack_bytes = c.ack_bytes;
  g_.gamma = c.gamma >= 0 ? c.gamma : 0.8;
  g_.max_md_jump = c.max_md_jump >= 0 ? c.max_md_jump : 0.5;
  g_.qa_gate = static_cast<uint8_t>(c.qa_gate >= 0 ? std::min(c.qa_gate, nscc_gains::kMaxQaGate) : nscc_gains::kQaGate);
  g_.adjust_bytes = c.adjust_bytes_threshold > 0 ? c.adjust_bytes_threshold : nscc_gains::kAdjustPackets * g_.mtu;
  g_.target_floor = std::max<int64_t>(to_ticks(c.target_delay_floor), 0);
  const auto take = [this](bool set, ByHand bit) {
    if (set) g_.by_hand = static_cast<uint16_t>(g_.by_hand | bit);
    return set;
  };
  take(c.max_cwnd > 0, kMaxWnd);
  if (take(c.target_delay.ns() > 0, kTarget)) g_.target = to_ticks(c.target_delay);
  if (take(c.fi >= 0, kFi)) g_.fi = c.fi;
  if (take(c.fi_scale >= 0, kFiScale)) g_.fi_scale = c.fi_scale;
  if (take(c.eta >= 0, kEta)) g_.eta = c.eta;
  if (take(c.qa_threshold.ns() > 0, kQaThreshold)) g_.qa_threshold = to_ticks(c.qa_threshold);
  if (take(c.adjust_period_threshold.ns() > 0, kAdjustPeriod)) g_.adjust_period = to_ticks(c.adjust_period_threshold);
  g_.r = std::max<int64_t>(to_ticks(c.base_rtt), 1);
  g_.bytes_per_tick = std::max(c.line_rate_bps, 1.0) / 8 / (1e9 * static_cast<double>(Rules::kTicksPerNs));
  derive(g_.bytes_per_tick * static_cast<double>(g_.r));
}

template <class Rules>
void BasicNscc<Rules>::derive(double bdp) {
  bdp = Rules::bdp(bdp);
  const auto is_by_hand = [this](ByHand bit) { return (g_.by_hand & bit) != 0; };
  const double a = bdp / nscc_gains::kReferenceBdp;
  const double unit = Rules::gain_mtu(g_.mtu) * a;
  if (!is_by_hand(kTarget)) {
    g_.target = g_.trimming ? static_cast<int64_t>(nscc_gains::kTargetWithTrimming * static_cast<double>(g_.r)) : g_.r;
  }
  if (g_.target < g_.target_floor) {
    g_.target = g_.target_floor;
    g_.by_hand = static_cast<uint16_t>(g_.by_hand | kRaisedByFloor);
  } else if (!is_by_hand(kTarget)) {
    g_.by_hand = static_cast<uint16_t>(g_.by_hand & ~kRaisedByFloor);
  }
  g_.target = std::max<int64_t>(g_.target, 1);
  const double reference_rtt = nscc_gains::kReferenceRttNs * static_cast<double>(Rules::kTicksPerNs);
  const double b = static_cast<double>(g_.target) / reference_rtt;
  g_.alpha = 4 * unit * b / static_cast<double>(g_.target);
  if (!is_by_hand(kFi)) g_.fi = 5 * unit;
  if (!is_by_hand(kFiScale)) g_.fi_scale = 0.25 * a;
  if (!is_by_hand(kEta)) g_.eta = 0.15 * unit;
  if (!is_by_hand(kAdjustPeriod)) g_.adjust_period = g_.r;
  if (!is_by_hand(kQaThreshold)) g_.qa_threshold = Rules::qa_threshold(g_.trimming, g_.r, g_.target);
}

// 1.5 BDP; if the floor has raised T, enough for one flow to reach a delay of T [MRC-NSCC-5].
template <class Rules>
int64_t BasicNscc<Rules>::derived_max_wnd(int64_t base_rtt) const {
  int64_t window = Rules::largest_window(g_.bytes_per_tick, base_rtt);
  if (g_.by_hand & kRaisedByFloor)
    window = std::max(window, static_cast<int64_t>(std::llround(g_.bytes_per_tick * static_cast<double>(base_rtt) +
                                                                g_.bytes_per_tick * static_cast<double>(g_.target))));
  return std::max<int64_t>(window, g_.mtu);
}

template <class Rules>
void BasicNscc<Rules>::set_measured(double line_rate_bps, Duration base_rtt) {
  if (base_rtt > Duration()) s_.base_rtt = g_.r = std::max<int64_t>(to_ticks(base_rtt), 1);
  g_.bytes_per_tick = std::max(line_rate_bps, 1.0) / 8 / (1e9 * static_cast<double>(Rules::kTicksPerNs));
  derive(g_.bytes_per_tick * static_cast<double>(g_.r));
  if (by_hand_max_wnd()) return;
  const bool untouched = s_.cwnd == s_.max_wnd;
  // A rate is measured through the window: a window of a single packet would never measure a higher one.
  s_.max_wnd = std::max<int64_t>(derived_max_wnd(s_.base_rtt), nscc_gains::kMinMeasuredPackets * g_.mtu);
  s_.cwnd = untouched ? s_.max_wnd : std::min(s_.cwnd, s_.max_wnd);
}

template <class Rules>
void BasicNscc<Rules>::limit(int64_t window) {
  s_.cwnd = std::min(s_.cwnd, std::max<int64_t>(window, nscc_gains::kMinMeasuredPackets * g_.mtu));
}

}  // namespace mrc::core
