// NSCC, the events [MRC-NSCC-10..18, 24]: accounting of bytes in flight, RTT samples, receiver penalty, and the rules
// of the window (nscc_window.h) that an event runs. Gains are derived in nscc_gains.h.
//
// An ACK adds up increases, which a later batch applies divided by the window, so that a full window of acknowledged
// bytes has the effect of one gain; decreases and the fast increase act at once. A trimmed packet
// subtracts its own size from the window. The amount delivered in about one loaded RTT is the window of last resort
// (quick adapt).
#pragma once

#include <algorithm>
#include <optional>

#include "core/congestion/nscc.h"

namespace mrc::core {

template <class Rules>
BasicNscc<Rules>::BasicNscc(const NsccConfig& config, Instant now) {
  configure(config);
  s_.base_rtt = g_.r;
  s_.max_wnd = by_hand_max_wnd() ? config.max_cwnd : derived_max_wnd(g_.r);
  s_.cwnd = s_.max_wnd;
  s_.last_adjust_time = s_.last_dec_time = s_.last_avg_time = now.ns() * Rules::kTicksPerNs;
}

template <class Rules>
void BasicNscc<Rules>::on_ack(Instant now, uint32_t rcvd_bytes_24, std::optional<Duration> rtt, bool ecn_marked,
                              uint8_t rcv_cwnd_pen, bool restore_cwnd, bool may_lower_base) {
  const int64_t new_bytes = advance_rcvd_bytes(rcvd_bytes_24, &s_.last_rcvd);
  s_.inflight -= new_bytes;
  branches_ = 0;
  const bool limited = apply_penalty(new_bytes, rcv_cwnd_pen, restore_cwnd);
  ack_update(now.ns(), new_bytes, rtt ? std::max<int64_t>(rtt->ns(), 1) : 0, ecn_marked, may_lower_base, limited);
}

template <class Rules>
void BasicNscc<Rules>::on_nack(Instant now, uint32_t nominal, std::optional<Duration> rtt, bool trimmed,
                               bool may_lower_base) {
  branches_ = 0;
  s_.inflight -= nominal;
  if (!trimmed) {
    if (rtt && may_lower_base) sample_base_rtt(std::max<int64_t>(rtt->ns(), 1));
    return;
  }
  nack_ticks(now.ns(), nominal, rtt ? std::max<int64_t>(rtt->ns(), 1) : 0, may_lower_base);
}

// [MRC-NSCC-CHOICE-11]
template <class Rules>
void BasicNscc<Rules>::on_loss(Instant, uint32_t nominal) {
  branches_ = 0;
  s_.inflight -= nominal;
  loss_ticks(nominal);
}

// ---------------------------------------------------------------- entry points in ticks

template <class Rules>
void BasicNscc<Rules>::ack_ticks(int64_t now, int64_t new_bytes, int64_t rtt, bool ecn_marked, bool may_lower_base) {
  branches_ = 0;
  ack_update(now, new_bytes, rtt, ecn_marked, may_lower_base, false);
}

template <class Rules>
void BasicNscc<Rules>::ack_update(int64_t now, int64_t new_bytes, int64_t rtt, bool ecn_marked, bool may_lower_base,
                                  bool limited) {
  count_arrived(new_bytes);
  const std::optional<int64_t> delay = delay_of(now, rtt, ecn_marked, may_lower_base, 0);
  if (delay) window_update(now, new_bytes, *delay, ecn_marked, limited);
}

template <class Rules>
void BasicNscc<Rules>::count_arrived(int64_t new_bytes) {
  s_.received_bytes += new_bytes;
  s_.achieved_bytes += new_bytes;
  s_.bytes_ignored += new_bytes;
}

// Empty without a valid sample. `delay_below_base`: of a sample below a base RTT that it must not lower; such a packet
// is no measure of the queues and does not change the average [MRC-NSCC-18].
template <class Rules>
std::optional<int64_t> BasicNscc<Rules>::delay_of(int64_t now, int64_t rtt, bool ecn_marked, bool may_lower_base,
                                                  int64_t delay_below_base) {
  if (rtt <= 0) {
    mark(kStepNoSample);
    return std::nullopt;
  }
  if (may_lower_base) sample_base_rtt(rtt);
  if (rtt < s_.base_rtt) return delay_below_base;
  feed_average(now, rtt - s_.base_rtt, ecn_marked);
  return rtt - s_.base_rtt;
}

template <class Rules>
void BasicNscc<Rules>::nack_ticks(int64_t now, int64_t size, int64_t rtt, bool may_lower_base) {
  branches_ = 0;
  if (rtt > 0 && may_lower_base) sample_base_rtt(rtt);
  feed_average(now, g_.r, true);  // R replaces the delay of the full queue, which was not measured
  s_.bytes_ignored += size;
  s_.trigger_qa = true;
  if (quick_adapt(now, true, true, 0)) return;
  mark(kStepTrimCut);
  cut(size);
}

template <class Rules>
void BasicNscc<Rules>::loss_ticks(int64_t size) {
  branches_ = 0;
  mark(kStepLossCut);
  cut(size);
  s_.bytes_ignored += size;
}

// [MRC-NSCC-CHOICE-7]
template <class Rules>
void BasicNscc<Rules>::sample_base_rtt(int64_t rtt) {
  if (rtt >= s_.base_rtt) return;
  s_.base_rtt = rtt;
  if (!by_hand_max_wnd()) s_.max_wnd = derived_max_wnd(rtt);
}

// P > 0 limits the window to the bytes in flight and subtracts its share of the new bytes; then increases are blocked.
// The earlier window is restored on the receiver's flag; otherwise the saved one is stale and discarded
// [MRC-NSCC-CHOICE-4].
template <class Rules>
bool BasicNscc<Rules>::apply_penalty(int64_t new_bytes, uint8_t penalty, bool restore) {
  const int64_t p = penalty & 0x7F;
  if (p > 0) {
    mark(kStepPenalty);
    if (s_.saved_cwnd == 0) s_.saved_cwnd = s_.cwnd;
    s_.cwnd = std::min(s_.cwnd, s_.inflight);
    s_.cwnd = std::max<int64_t>(g_.mtu, s_.cwnd - ((p * new_bytes) >> 7));
    return true;
  }
  if (restore && s_.saved_cwnd > 0) {
    mark(kStepRestore);
    s_.cwnd = s_.saved_cwnd;
  }
  s_.saved_cwnd = 0;
  return false;
}

}  // namespace mrc::core
