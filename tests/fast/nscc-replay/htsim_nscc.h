// NSCC as the UEC's public simulator (uet-htsim) computes it: the engine's algorithm with the simulator's differences
// from the specification, D1 to D14 of spec/nscc.md, section "The reference simulator". Only with them its recordings
// replay exactly. One tick is a picosecond; an instant must be below 106 days.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/congestion/nscc.h"
#include "core/congestion/nscc_events.h"
#include "core/congestion/nscc_gains.h"
#include "core/congestion/nscc_window.h"

namespace mrc::core {

inline constexpr uint32_t kHtsimHeader = 64;  // bytes of a packet's size there that are not payload

struct HtsimRules {
  static constexpr int64_t kTicksPerNs = 1000;

  static bool is_due(int64_t elapsed, int64_t limit) { return elapsed > limit; }                                // D3
  static bool is_near_zero(int64_t delay, int64_t /*target*/) { return delay < 1000 * kTicksPerNs; }            // D14
  static double average(const NsccState& s, int64_t /*now*/, int64_t delay, bool ecn_marked, int64_t target) {  // D8
    constexpr double kGain = 0.0125;
    const int64_t sample = !ecn_marked && delay > target ? s.base_rtt / 4 : delay;
    return std::trunc(kGain * static_cast<double>(sample) + (1 - kGain) * s.avg_delay);
  }
  static int64_t whole(double bytes) { return static_cast<int64_t>(bytes); }
  static int64_t increments(int64_t sum) { return sum & 0xFFFFFFFF; }                           // D1
  static int64_t bytes_to_ignore(int64_t inflight) { return static_cast<uint32_t>(inflight); }  // D13
  static double bdp(double bytes) { return std::floor(bytes + 1e-6); }
  // In this order of operations the rounding of the doubles is the simulator's, to the byte.
  static int64_t largest_window(double bytes_per_tick, int64_t base_rtt) {
    const double bps = std::round(bytes_per_tick * 8e12);
    return static_cast<int64_t>(1.5 * std::trunc(static_cast<double>(base_rtt) / 1e6 * bps / 8e6));
  }
  static uint32_t gain_mtu(uint32_t mtu) { return mtu - kHtsimHeader; }                                 // D7
  static int64_t qa_threshold(bool /*trimming*/, int64_t /*r*/, int64_t target) { return 4 * target; }  // D6
};

class HtsimNscc : public BasicNscc<HtsimRules> {
 public:
  struct Recorded {  // starting values of a recorded context
    int64_t base_rtt = 0, bdp = 0, max_wnd = 0, cwnd = 0;
    uint32_t mtu = 0;
    bool trimming = true;
    int64_t target = 0;  // T; 0: derive
  };

  // The trigger of quick adapt is sticky; the times of the last events start at 0 (D11).
  HtsimNscc(NsccConfig config, Instant now) : BasicNscc(sticky(config), now) {
    s_.last_adjust_time = s_.last_dec_time = s_.last_avg_time = 0;
  }
  static HtsimNscc recorded(const Recorded& start);

  // D9: the receiver's penalty is not read.
  void on_ack(Instant now, uint32_t rcvd_bytes_24, std::optional<Duration> rtt, bool ecn_marked, uint8_t, bool,
              bool may_lower_base = true) {
    const int64_t new_bytes = advance_rcvd_bytes(rcvd_bytes_24, &s_.last_rcvd);
    s_.inflight -= new_bytes;
    ack_ticks(now.ns() * HtsimRules::kTicksPerNs, new_bytes, rtt ? std::max<int64_t>(to_ticks(*rtt), 1) : 0, ecn_marked,
              may_lower_base);
  }
  // Every NACK is taken for a trim (D12), and the packet is removed afterwards (D4).
  void on_nack(Instant now, uint32_t nominal, std::optional<Duration> rtt, bool, bool may_lower_base = true) {
    nack_ticks(now.ns() * HtsimRules::kTicksPerNs, nominal, rtt ? to_ticks(*rtt) : 0, may_lower_base);
    s_.inflight -= nominal;
  }
  void on_loss(Instant, uint32_t nominal) {
    s_.inflight -= nominal;
    loss_ticks(nominal);
  }

  // As BasicNscc has them. ack_ticks() returns the delay that it used; `delay_below_base`: of a sample that is below a
  // base RTT which it must not lower.
  int64_t ack_ticks(int64_t now, int64_t new_bytes, int64_t rtt, bool ecn_marked, bool may_lower_base,
                    int64_t delay_below_base = 0) {
    branches_ = 0;
    count_arrived(new_bytes);
    const int64_t average = static_cast<int64_t>(s_.avg_delay);
    const int64_t delay = delay_of(now, rtt, ecn_marked, may_lower_base, delay_below_base).value_or(average);  // D2
    clamp();
    window_update(now, new_bytes, delay, ecn_marked, false);
    clamp();
    return delay;
  }
  void nack_ticks(int64_t now, int64_t size, int64_t rtt, bool may_lower_base) {
    BasicNscc::nack_ticks(now, size, rtt, may_lower_base);
    clamp();
  }
  // D5: bytes_ignored stays.
  void loss_ticks(int64_t size) {
    const int64_t ignored = s_.bytes_ignored;
    BasicNscc::loss_ticks(size);
    s_.bytes_ignored = ignored;
  }
  void set_inflight(int64_t bytes) { s_.inflight = bytes; }

 private:
  HtsimNscc() = default;
  static NsccConfig sticky(NsccConfig config) {
    config.sticky_qa_trigger = true;
    return config;
  }
  void clamp() { s_.cwnd = std::max<int64_t>(g_.mtu, std::min(s_.cwnd, s_.max_wnd)); }
};

inline HtsimNscc HtsimNscc::recorded(const Recorded& start) {
  NsccConfig c;
  c.mtu = start.mtu;
  c.trimming = start.trimming;
  HtsimNscc n;
  n.configure(sticky(c));
  n.g_.r = start.base_rtt;
  if (start.target > 0) {
    n.g_.by_hand = kTarget;
    n.g_.target = start.target;
  }
  // The recorded BDP is whole bytes; the rate that it stands for is a whole number of Gb/s where one fits.
  const double gbps = static_cast<double>(start.bdp) * 8000 / static_cast<double>(start.base_rtt);
  const double whole = std::round(gbps);
  const bool fits = std::fabs(whole - gbps) <= 2 * 8000.0 / static_cast<double>(start.base_rtt);
  n.g_.bytes_per_tick = (fits ? whole : gbps) / 8000;
  n.derive(static_cast<double>(start.bdp));
  n.s_.base_rtt = start.base_rtt;
  n.s_.max_wnd = start.max_wnd;
  n.s_.cwnd = start.cwnd;
  return n;
}

}  // namespace mrc::core
