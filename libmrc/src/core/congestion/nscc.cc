// NSCC as an entry of the registry: its parameters, and the object of a QP.
//
// The algorithm expects an acknowledgement of each packet, or of packets that were treated alike. A SACK reports
// several packets and names one, and a marked packet causes a SACK at once [MRC-SACK-5]. Taken as a whole, such a SACK
// would treat the packets before the marked one as marked: the fewer SACKs a receiver sends, the more its marks would
// weigh. The object of a QP passes the two parts to the algorithm one after the other [MRC-NSCC-33]
// [MRC-NSCC-CHOICE-12].
#include "core/congestion/nscc.h"

#include "core/congestion/nscc_events.h"
#include "core/congestion/nscc_gains.h"
#include "core/congestion/nscc_window.h"
#include "core/congestion/registry.h"
#include "wire/cc_state.h"

namespace mrc::core {

template class BasicNscc<NsccRules>;

namespace {

using Unit = CongestionUnit;
constexpr double kMaxBytes = 1099511627776;  // 2^40
constexpr CongestionParameter kNsccParameters[] = {
    {"max_cwnd", Unit::kBytes, 0, kMaxBytes, "0: derived", "largest window"},
    {"target_delay", Unit::kTime, 0, 1e9, "0: derived", "queueing delay that NSCC aims at"},
    {"fi", Unit::kNumber, 0, 1e12, "derived", "fair increase, bytes"},
    {"fi_scale", Unit::kNumber, 0, 1e6, "derived", "fast increase, factor"},
    {"eta", Unit::kNumber, 0, 1e12, "derived", "bytes that are added once a period"},
    {"gamma", Unit::kNumber, 0, 1, "0.8", "strength of the multiplicative decrease"},
    {"max_md_jump", Unit::kNumber, 0, 1, "0.5", "share of the window that a decrease leaves at least"},
    {"qa_gate", Unit::kCount, 0, 62, "3", "quick adapt below the largest window >> gate"},
    {"qa_threshold", Unit::kTime, 0, 1e9, "0: derived", "delay that triggers quick adapt"},
    {"adjust_bytes", Unit::kBytes, 0, kMaxBytes, "0: derived", "increases are applied after so many bytes"},
    {"adjust_period", Unit::kTime, 0, 1e9, "0: derived", "or after so long"},
    {"disable_qa", Unit::kFlag, 0, 1, "false", "no quick adapt"},
    {"sticky_qa_trigger", Unit::kFlag, 0, 1, "false", "keep the quick adapt trigger as the specification has it"},
};

NsccConfig nscc_config(const CongestionConfig& c, const CongestionFlow& flow) {
  NsccConfig n;
  n.line_rate_bps = c.line_rate_bps;
  n.base_rtt = c.base_rtt;
  n.target_delay_floor = c.host_jitter;
  n.mtu = flow.mtu;
  n.ack_bytes = flow.ack_bytes;
  n.trimming = flow.trimming;
  n.max_cwnd = static_cast<int64_t>(c.get("max_cwnd", 0));
  n.target_delay = c.get_time("target_delay");
  n.fi = c.get("fi", -1);
  n.fi_scale = c.get("fi_scale", -1);
  n.eta = c.get("eta", -1);
  n.gamma = c.get("gamma", -1);
  n.max_md_jump = c.get("max_md_jump", -1);
  n.qa_gate = static_cast<int>(c.get("qa_gate", -1));
  n.qa_threshold = c.get_time("qa_threshold");
  n.adjust_bytes_threshold = static_cast<int64_t>(c.get("adjust_bytes", 0));
  n.adjust_period_threshold = c.get_time("adjust_period");
  n.disable_qa = c.get("disable_qa", 0) != 0;
  n.sticky_qa_trigger = c.get("sticky_qa_trigger", 0) != 0;
  return n;
}

class NsccControl final : public CongestionControl {
 public:
  NsccControl(const NsccConfig& config, Instant now) : nscc_(config, now) {}
  void on_sent(uint32_t nominal) override { nscc_.on_send(nominal); }
  void on_ack(Instant now, const AckSample& s) override {
    steps_ = 0;
    if (s.ecn_marked) count_unmarked_before(now, s);
    nscc_.on_ack(now, s.rcvd_bytes_24, s.rtt, s.ecn_marked, s.rcv_cwnd_pen, s.restore_cwnd, s.may_lower_base);
    note_steps();
    last_event_ = now;
    if (s.ecn_marked || !s.rtt) return;
    unmarked_rtt_ = *s.rtt;
    unmarked_at_ = now;
  }
  void on_nack(Instant now, const NackSample& s) override {
    nscc_.on_nack(now, s.nominal, s.rtt, s.trimmed, s.may_lower_base);
    steps_ = nscc_.last_branches();
    last_event_ = now;
  }
  void on_loss(Instant now, uint32_t nominal, LossCause) override {
    nscc_.on_loss(now, nominal);
    steps_ = nscc_.last_branches();
  }
  void on_lost_packet_acked(uint32_t nominal) override { nscc_.on_lost_packet_acked(nominal); }
  void on_measured(double line_rate_bps, Duration base_rtt) override { nscc_.set_measured(line_rate_bps, base_rtt); }
  void limit(int64_t window) override { nscc_.limit(window); }
  bool can_send(uint32_t nominal) const override { return nscc_.can_send(nominal); }
  bool requests_ack(uint32_t nominal) const override { return nscc_.requests_ack(nominal); }
  CongestionSnapshot snapshot() const override {
    return {nscc_.cwnd(), nscc_.inflight(), nscc_.max_wnd(), nscc_.base_rtt(), steps_};
  }

 private:
  // Bytes that a marked packet's SACK reports besides that packet: an event without a mark, with the round trip of the
  // last unmarked sample, after their share of the time since the last event. [MRC-NSCC-33]
  void count_unmarked_before(Instant now, const AckSample& s) {
    uint32_t last = nscc_.state().last_rcvd;
    const int64_t arrived = advance_rcvd_bytes(s.rcvd_bytes_24, &last) / wire::kRcvdBytesUnit;
    const int64_t own = (s.nominal + wire::kRcvdBytesUnit - 1) / wire::kRcvdBytesUnit;
    if (own == 0 || arrived <= own || !s.rtt || unmarked_at_ + *s.rtt < now) return;
    const Instant before = last_event_ + (now - last_event_) * (arrived - own) / arrived;
    const uint32_t count = s.rcvd_bytes_24 - static_cast<uint32_t>(own);
    nscc_.on_ack(before, count, unmarked_rtt_, false, s.rcv_cwnd_pen, s.restore_cwnd, false);
    note_steps();
  }
  void note_steps() { steps_ = static_cast<uint16_t>(steps_ | nscc_.last_branches()); }

  Nscc nscc_;
  Instant last_event_ = kLongAgo;
  Instant unmarked_at_ = kLongAgo;  // of the last unmarked sample
  Duration unmarked_rtt_;
  uint16_t steps_ = 0;
};
static_assert(sizeof(NsccControl) <= 320, "each idle QP has one");

}  // namespace

const CongestionAlgorithm kNsccAlgorithm = {
    "nscc", "uet-1.0-nscc", "network signal congestion control of UET 1.0, which MRC 1.0 adopts [spec/nscc.md]",
    kNsccParameters,
    [](const CongestionConfig& config, const CongestionFlow& flow, Instant now) -> std::unique_ptr<CongestionControl> {
      return std::make_unique<NsccControl>(nscc_config(config, flow), now);
    }};

}  // namespace mrc::core
