// Requester: the sending half of a QP: segmentation, window, EV choice per burst, and what acknowledgements, NACKs and
// silence do to it. requester.cc sends; requester_ack.cc handles SACK, NACK and transport ACK; loss_recovery.cc decides
// what is lost and when to probe. [MRC-REQ-*, MRC-LOSS-*, spec/states.md]
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/time.h"
#include "core/burst.h"
#include "core/congestion/config.h"
#include "core/congestion/control.h"
#include "core/ev_rotation.h"
#include "core/loss_detector.h"
#include "core/qp_context.h"
#include "core/rtt_estimator.h"
#include "core/send_queue.h"
#include "core/tx_window.h"
#include "wire/packet.h"

namespace mrc::core {

class BurstBuilder;

class Requester {
 public:
  enum class Build : uint8_t { kSent, kNothing, kNoRoom };

  explicit Requester(QpContext* qp) : qp_(*qp) {}

  void init(const QpCaps& caps) { sq_.init(caps); }
  void start(Instant now);  // on the way to RTS: fresh windows, congestion state, PSNs
  void reset();
  PostResult post(const SendWr& wr);
  // Lays the packets that may leave now into `out`. kSent: the last packet has no ICRC yet, as the caller may have an
  // ACK leave behind it, and finishes the builder; nothing may have been added otherwise.
  Build build(Instant now, uint32_t planes_with_room, TxBurst* out, BurstBuilder* builder);

  void on_sack(Instant now, const wire::Packet& p);
  void on_nack(Instant now, const wire::Packet& p);
  void on_transport_ack(Instant now, const wire::Packet& p);
  void on_timer(Instant now);
  Instant deadline() const { return std::min({rto_deadline_, probe_deadline_, lost_deadline_}); }

  // Completes everything outstanding: the oldest with `first`, the rest flushed.
  void flush(Instant now, WcStatus first);
  bool idle() const { return sq_.empty(); }
  // The packet that everything waits for was sent and exceeds what packets of that path MTU may have [MRC-MTU-4].
  bool stuck_above(uint32_t path_mtu) const;
  bool may_send() const { return lost_count_ > 0 || nxt_ < new_limit(); }
  void fill_status(QpStatus* s) const;
  const EvRotation& rotation() const { return rotation_; }

 private:
  uint64_t new_limit() const;  // one past the highest sequence number that may be sent
  bool next_lost(uint64_t from, uint64_t* seq);
  int64_t seq_of(Psn psn) const;
  // What a SACK says of the one packet that caused it.
  struct Named {
    uint64_t seq = 0;
    uint16_t ev = UINT16_MAX;    // that it took; UINT16_MAX: unknown
    bool known = false;          // it is in the window's records
    Duration rtt;                // zero: no sample
    bool measures_path = false;  // its round trip may lower the base RTT
  };
  Named read_named(Instant now, const wire::Packet& p, int64_t cack_next);
  void take_sample(Duration rtt);
  void ack_one(Instant now, uint64_t seq);
  void ack_below(Instant now, uint64_t end);
  const CongestionConfig& congestion_config() const;  // of the profile, or as the endpoint is configured
  void follow_meter();
  void advance_una();
  void complete_below(Instant now, uint64_t end);
  void complete_front(Instant now, WcStatus status);
  void after_progress(Instant now);
  void take_probe_answer(Instant now, uint16_t id);
  // loss_recovery.cc
  void detect_losses(Instant now);
  void mark_lost(Instant now, uint64_t seq, LossCause cause);
  void skip_path(Instant now, uint16_t ev, TraceTrigger why);
  void trace_lost(Instant now, TraceEvent event, TraceTrigger why, uint64_t seq);
  void trace_window(Instant now, TraceTrigger why, Duration rtt);
  void handle_rto(Instant now);
  void send_probe(Instant now, TraceTrigger why);
  void arm_probe(Instant now);
  Duration probe_patience() const;  // age at which a probe without an answer counts against its path
  void arm_rto(Instant now);
  Duration rto_interval() const;
  void note_lateness(Instant now, const wire::Packet& p, const Named& named);
  bool charge_retry();  // false: budget spent, QP is in error now
  void suspect_path_mtu(Instant now);
  bool outstanding() const { return una_ < nxt_ || !sq_.empty(); }

  QpContext& qp_;
  SendQueue sq_;
  std::unique_ptr<CongestionControl> congestion_;  // from start() on
  EvRotation rotation_;
  std::unique_ptr<TxWindow> window_;
  uint64_t una_ = 0;            // oldest packet not known to have arrived
  uint64_t nxt_ = 0;            // next packet to send for the first time
  uint64_t window_first_ = 0;   // records of the window before this one are somebody else's
  uint64_t cack_next_ = 0;      // cack_psn + 1 as last reported: what the MPR window hangs on
  uint64_t highest_acked_ = 0;  // one past the highest packet known to have arrived
  uint64_t lost_hint_ = 0;      // no lost packet below
  uint64_t hint_ = 0;           // SendQueue::find
  uint64_t retx_hint_ = 0;
  uint32_t lost_count_ = 0;
  uint32_t flight_ = 0;        // packets sent and neither known to have arrived nor declared lost
  uint32_t window_psns_ = 0;   // MPR in packets
  uint32_t full_nominal_ = 0;  // nominal size of a full packet
  uint32_t wimm_inflight_ = 0;
  uint32_t unsignaled_run_ = 0;
  uint32_t attempts_ = 0;  // timeouts since cack moved
  uint32_t meter_generation_ = 0;
  Instant waiting_since_;  // the packet at una_ has been the oldest, or was last charged for [MRC-LOSS-5]
  uint32_t probe_backoff_ = 0;
  uint16_t probe_id_ = 0;
  uint16_t probe_ev_ = 0;
  bool probe_outstanding_ = false;
  bool cq_overrun_ = false;  // a completion could not be delivered
  Instant probe_sent_at_;
  // The first of the probes since an answer: its answer counts when it is late, too, and tells how late.
  struct FirstProbe {
    uint16_t id = 0, ev = 0;
    Instant sent_at;
  } first_probe_;
  Instant rto_deadline_ = Instant::never();
  Instant probe_deadline_ = Instant::never();
  Instant lost_deadline_ = Instant::never();  // an overtaken packet counts as lost then
  RttEstimator rtt_;
  LossDetector detector_;

 public:
  uint64_t tx_packets = 0, retransmits = 0, timeouts = 0;
};

}  // namespace mrc::core
