// Swift: delay-based congestion control after Kumar et al., SIGCOMM 2020 [MRC-CC-20..27, spec/congestion.md]. The
// window grows by `ai` packets per round trip while the round trip stays below a target, and falls in proportion to the
// excess, at most once per round trip. The target has a part for the path (base and hops) and one that shrinks
// as the window grows, so that many small flows may queue more than a few large ones. Losses and trims reduce it by
// `max_mdf`.
//
// Differences from the paper, because one QP sprays over many paths, and the reasons: spec/congestion.md, choices.
#pragma once

#include <cstdint>

#include "core/congestion/config.h"
#include "core/congestion/control.h"

namespace mrc::core {

class Swift final : public CongestionControl {
 public:
  Swift(const CongestionConfig& config, const CongestionFlow& flow, Instant now);

  void on_sent(uint32_t nominal) override { inflight_ += nominal; }
  void on_ack(Instant now, const AckSample& sample) override;
  void on_nack(Instant now, const NackSample& sample) override;
  void on_loss(Instant now, uint32_t nominal, LossCause cause) override;
  void on_lost_packet_acked(uint32_t nominal) override { inflight_ += nominal; }
  void on_measured(double line_rate_bps, Duration base_rtt) override;
  void limit(int64_t window) override;
  bool can_send(uint32_t nominal) const override { return inflight_ <= 0 || inflight_ + nominal <= window(); }
  bool requests_ack(uint32_t nominal) const override {
    return window() - (inflight_ + nominal) < p_.mtu || window() < p_.ack_bytes;
  }
  CongestionSnapshot snapshot() const override { return {window(), inflight_, max_wnd_, base_rtt_, steps_}; }

  // Target round trip of a window of this many packets.
  Duration target_delay(double packets) const;
  double packets() const { return packets_; }

 private:
  struct Parameters {
    Duration base_target, hop_target, fs_range, host_jitter;  // zero: derived from the base RTT
    double fs_alpha = 0, fs_beta = 0;                         // of the flow term, in units of fs_range
    double ai = 0, beta = 0, max_mdf = 0;
    int64_t max_cwnd = 0;
    uint32_t hops = 0, retx_threshold = 0;
    uint32_t mtu = 1, ack_bytes = 0;
  };
  static Parameters read(const CongestionConfig& config, const CongestionFlow& flow);
  int64_t window() const { return static_cast<int64_t>(packets_ * p_.mtu + 0.5); }
  double max_packets() const { return static_cast<double>(max_wnd_) / p_.mtu; }
  Duration path_target() const;
  void derive();
  bool may_decrease(Instant now) const { return now - last_decrease_ >= last_rtt_; }
  void decrease(Instant now, double kept, WindowStep step);
  void cut(Instant now, WindowStep step);
  void mark(WindowStep step) { steps_ = static_cast<uint16_t>(steps_ | step); }

  double packets_ = 0;  // the window, in full packets
  int64_t inflight_ = 0;
  int64_t max_wnd_ = 0;
  Instant last_decrease_ = kLongAgo;
  Instant last_timeout_ = kLongAgo;
  Duration last_rtt_;  // of the latest valid sample
  Duration base_rtt_;
  double line_rate_bps_;
  const Parameters p_;
  uint32_t retx_count_ = 0;  // timeouts in a row
  uint32_t last_rcvd_ = 0;
  uint16_t steps_ = 0;
};

static_assert(sizeof(Swift) <= 256, "each idle QP has one");

}  // namespace mrc::core
