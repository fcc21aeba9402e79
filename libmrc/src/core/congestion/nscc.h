// NSCC, the window of one QP over all paths and planes [MRC-NSCC-*, spec/nscc.md]. All sizes are nominal packet sizes
// in bytes (UDP length + 40). Sans-IO: time is an argument of each event. One object per QP, used by the one thread
// that drives the QP; no allocation, small enough for thousands of idle QPs.
//
// BasicNscc is the algorithm; `Rules` are the points in which the public reference simulator differs from the
// specification. QPs use NsccRules, the specification. The tests have the simulator's rules, so that its recordings
// replay by the same code (tests/fast/nscc-replay). Events: nscc_events.h; gains: nscc_gains.h; window: nscc_window.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "core/congestion/control.h"

namespace mrc::core {

struct NsccConfig {
  // [MRC-NSCC-CHOICE-10]
  double line_rate_bps = 100e9;                    // min of both ends, all planes together
  Duration base_rtt = Duration::microseconds(12);  // R: unloaded RTT of one MTU packet over the longest path
  uint32_t mtu = 4160;                             // nominal
  uint32_t ack_bytes = 16384;                      // bytes after which a receiver acknowledges without request
  bool trimming = false;
  // 0 or negative: derive from rate, R and MTU by the table of the specification.
  int64_t max_cwnd = 0;
  Duration target_delay;
  // [MRC-NSCC-CHOICE-9]
  double fi = -1, fi_scale = -1, eta = -1, gamma = -1, max_md_jump = -1;
  int qa_gate = -1;
  Duration qa_threshold;
  int64_t adjust_bytes_threshold = 0;
  Duration adjust_period_threshold;
  bool disable_qa = false;
  bool sticky_qa_trigger = false;  // true: as in the text; false (default): see spec/nscc.md, choice on trap 9.1
  Duration target_delay_floor;     // T is at least this: the host's own jitter, set by the device [MRC-NSCC-5]
};

// State of NSCC; times in ticks. Read by traces, tests and the replay.
struct NsccState {
  int64_t cwnd = 0;
  int64_t inflight = 0;  // signed on purpose: the 256-byte round-up makes it fall below 0
  int64_t saved_cwnd = 0;
  int64_t base_rtt = 0;
  int64_t max_wnd = 0;
  int64_t achieved_bytes = 0;
  int64_t received_bytes = 0;
  int64_t fi_count = 0;
  int64_t qa_endtime = 0;
  int64_t bytes_to_ignore = 0;
  int64_t bytes_ignored = 0;
  // [MRC-NSCC-CHOICE-5]
  int64_t inc_bytes = 0;
  int64_t last_adjust_time = 0;
  int64_t last_dec_time = 0;
  double avg_delay = 0;
  int64_t last_avg_time = 0;
  uint32_t last_rcvd = 0;  // largest rcvd_bytes seen, 24 bits in units of 256 bytes
  bool trigger_qa = false;
  bool increase_mode = false;
  bool window_limited = false;  // the window was full at some time in this quick-adapt period
};

// Gains, configured or derived [MRC-NSCC-3], and the rest of the configuration; times in ticks.
struct NsccGains {
  double bytes_per_tick = 0;
  double alpha = 0;
  double fi = 0, fi_scale = 0, eta = 0;
  double gamma = 0, max_md_jump = 0;
  int64_t r = 0;  // R, the configured base RTT
  int64_t target = 0;
  int64_t target_floor = 0;
  int64_t qa_threshold = 0;
  int64_t adjust_period = 0;
  uint32_t adjust_bytes = 0;
  uint32_t mtu = 0;
  uint32_t ack_bytes = 0;
  uint16_t by_hand = 0;  // the configured ones, see BasicNscc::ByHand
  uint8_t qa_gate = 0;
  bool disable_qa : 1 = false, trimming : 1 = false, sticky : 1 = false;
};

// The specification, where the reference simulator differs from it.
struct NsccRules {
  static constexpr int64_t kTicksPerNs = 1;  // [MRC-NSCC-2]
  static constexpr double kWindowOfBdp = 1.5;

  static bool is_due(int64_t elapsed, int64_t limit) { return elapsed >= limit; }
  // [MRC-NSCC-CHOICE-2]
  static bool is_near_zero(int64_t delay, int64_t target) {
    constexpr int64_t kNearZeroNs = 1000;
    constexpr int64_t kNearZeroShare = 9;  // 1 us of the reference network's target of 9 us
    return delay < std::max(kNearZeroNs, target / kNearZeroShare);
  }
  // Weighted by time, so that the average covers about the last base_rtt at any ACK rate [MRC-NSCC-CHOICE-3].
  static double average(const NsccState& s, int64_t now, int64_t delay, bool /*ecn_marked*/, int64_t /*target*/) {
    const int64_t elapsed = std::max<int64_t>(now - s.last_avg_time, 0);
    const double weight = std::min(1.0, static_cast<double>(elapsed) / static_cast<double>(s.base_rtt));
    return s.avg_delay + weight * (static_cast<double>(delay) - s.avg_delay);
  }
  static int64_t whole(double bytes) { return std::llround(bytes); }
  static int64_t increments(int64_t sum) { return sum; }
  static int64_t bytes_to_ignore(int64_t inflight) { return std::max<int64_t>(inflight, 0); }
  static double bdp(double bytes) { return bytes; }
  static int64_t largest_window(double bytes_per_tick, int64_t base_rtt) {
    return std::llround(kWindowOfBdp * (bytes_per_tick * static_cast<double>(base_rtt)));
  }
  static uint32_t gain_mtu(uint32_t mtu) { return mtu; }
  static int64_t qa_threshold(bool trimming, int64_t r, int64_t target) {
    return trimming ? Duration::infinite().ns() : 4 * std::max(r, target);
  }
};

template <class Rules>
class BasicNscc {
 public:
  BasicNscc(const NsccConfig& config, Instant now);

  // A packet was sent, the first time or again.
  void on_send(uint32_t nominal) {
    s_.inflight += nominal;
    if (is_window_full()) s_.window_limited = true;
  }
  // A SACK with CC_STATE. `rcvd_bytes_24`: the receiver's count in units of 256 bytes, modulo 2^24. `rtt`: empty when
  // the retransmission rule makes the sample invalid. `may_lower_base`: false for packets below the MTU and control
  // packets, whose delay counts but which must not lower base_rtt.
  void on_ack(Instant now, uint32_t rcvd_bytes_24, std::optional<Duration> rtt, bool ecn_marked, uint8_t rcv_cwnd_pen,
              bool restore_cwnd, bool may_lower_base = true);
  // `trimmed`: reason TRIMMED or TRIMMED_LASTHOP; other reasons only subtract the packet's bytes.
  void on_nack(Instant now, uint32_t nominal, std::optional<Duration> rtt, bool trimmed, bool may_lower_base = true);
  // Timeout or inferred loss of one packet.
  void on_loss(Instant now, uint32_t nominal);
  // A packet declared lost, and not retransmitted since, proves to have arrived: rcvd_bytes removes it a second time.
  void on_lost_packet_acked(uint32_t nominal) { s_.inflight += nominal; }

  // [MRC-NSCC-CHOICE-8]
  bool can_send(uint32_t nominal) const { return s_.inflight <= 0 || s_.inflight + nominal <= s_.cwnd; }
  // Whether to request an immediate ACK with the next packet; call before on_send().
  bool requests_ack(uint32_t nominal) const {
    return s_.cwnd - (s_.inflight + nominal) < g_.mtu || s_.cwnd < g_.ack_bytes;
  }
  // Line rate and unloaded RTT (zero: as before) have been measured: gains that are not configured are derived again.
  void set_measured(double line_rate_bps, Duration base_rtt);
  void limit(int64_t window);  // once, from above

  int64_t cwnd() const { return s_.cwnd; }
  int64_t inflight() const { return s_.inflight; }
  int64_t max_wnd() const { return s_.max_wnd; }
  Duration base_rtt() const { return to_duration(s_.base_rtt); }
  Duration target_delay() const { return to_duration(g_.target); }
  Duration avg_delay() const { return to_duration(static_cast<int64_t>(s_.avg_delay)); }

  const NsccState& state() const { return s_; }
  uint16_t last_branches() const { return branches_; }

  // The events in ticks, after the accounting of bytes in flight. `rtt` <= 0: invalid sample.
  void ack_ticks(int64_t now, int64_t new_bytes, int64_t rtt, bool ecn_marked, bool may_lower_base);
  void nack_ticks(int64_t now, int64_t size, int64_t rtt, bool may_lower_base);
  void loss_ticks(int64_t size);

 protected:
  enum ByHand : uint16_t {
    kMaxWnd = 1 << 0,
    kTarget = 1 << 1,
    kFi = 1 << 2,
    kFiScale = 1 << 3,
    kEta = 1 << 4,
    kQaThreshold = 1 << 5,
    kAdjustPeriod = 1 << 6,
    kRaisedByFloor = 1 << 7,  // not configured: T was below the floor
  };
  friend struct NsccTestPeer;
  BasicNscc() = default;
  static int64_t to_ticks(Duration d);
  static Duration to_duration(int64_t ticks) { return Duration::nanoseconds(ticks / Rules::kTicksPerNs); }
  void configure(const NsccConfig& config);
  void derive(double bdp);
  bool by_hand_max_wnd() const { return (g_.by_hand & kMaxWnd) != 0; }
  int64_t derived_max_wnd(int64_t base_rtt) const;
  void sample_base_rtt(int64_t rtt);
  void feed_average(int64_t now, int64_t delay, bool ecn_marked);
  bool apply_penalty(int64_t new_bytes, uint8_t penalty, bool restore);
  void ack_update(int64_t now, int64_t new_bytes, int64_t rtt, bool ecn_marked, bool may_lower_base, bool limited);
  void count_arrived(int64_t new_bytes);
  std::optional<int64_t> delay_of(int64_t now, int64_t rtt, bool ecn_marked, bool may_lower_base,
                                  int64_t delay_below_base);
  void window_update(int64_t now, int64_t new_bytes, int64_t delay, bool ecn_marked, bool limited);
  bool quick_adapt(int64_t now, bool loss, bool marked, int64_t delay);
  bool fast_increase(int64_t new_bytes, int64_t delay);
  void proportional_increase(int64_t new_bytes, int64_t delay);
  void add_increment(double bytes);
  void decrease(int64_t now);
  void fulfil(int64_t now);
  void cut(int64_t size);
  bool is_window_full() const { return s_.cwnd - s_.inflight < g_.mtu; }
  void mark(WindowStep step) { branches_ = static_cast<uint16_t>(branches_ | step); }

  NsccState s_;
  NsccGains g_;
  uint16_t branches_ = 0;
};

extern template class BasicNscc<NsccRules>;
using Nscc = BasicNscc<NsccRules>;
static_assert(sizeof(Nscc) <= 256, "each idle QP has one");

}  // namespace mrc::core
