// No congestion control: only the peer's MPR window limits the bytes in flight [MRC-CC-14]. Bytes in flight are counted
// for status and traces; the reported window is 1.5 BDP and has no effect.
#include <algorithm>
#include <cmath>

#include "core/congestion/registry.h"

namespace mrc::core {
namespace {

class None final : public CongestionControl {
 public:
  None(const CongestionConfig& config, const CongestionFlow& flow) : mtu_(flow.mtu), base_rtt_(config.base_rtt) {
    set_window(config.line_rate_bps);
  }
  void on_sent(uint32_t nominal) override { inflight_ += nominal; }
  void on_ack(Instant, const AckSample& s) override { inflight_ -= advance_rcvd_bytes(s.rcvd_bytes_24, &last_rcvd_); }
  void on_nack(Instant, const NackSample& s) override { inflight_ -= s.nominal; }
  void on_loss(Instant, uint32_t nominal, LossCause) override { inflight_ -= nominal; }
  void on_lost_packet_acked(uint32_t nominal) override { inflight_ += nominal; }
  void on_measured(double line_rate_bps, Duration base_rtt) override {
    if (base_rtt > Duration()) base_rtt_ = base_rtt;
    set_window(line_rate_bps);
  }
  void limit(int64_t) override {}
  bool can_send(uint32_t) const override { return true; }
  bool requests_ack(uint32_t) const override { return false; }
  CongestionSnapshot snapshot() const override { return {window_, inflight_, window_, base_rtt_, 0}; }

 private:
  void set_window(double line_rate_bps) {
    const double bdp = line_rate_bps / 8e9 * static_cast<double>(base_rtt_.ns());
    window_ = std::max<int64_t>(std::llround(1.5 * bdp), mtu_);
  }

  int64_t window_ = 0;
  int64_t inflight_ = 0;
  uint32_t last_rcvd_ = 0;
  uint32_t mtu_;
  Duration base_rtt_;
};

}  // namespace

const CongestionAlgorithm kNoCongestionControl = {
    "none",
    nullptr,
    "no congestion control: the window is limited by mpr alone",
    {},
    [](const CongestionConfig& config, const CongestionFlow& flow, Instant) -> std::unique_ptr<CongestionControl> {
      return std::make_unique<None>(config, flow);
    }};

}  // namespace mrc::core
