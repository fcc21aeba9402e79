// Requester: the sending half of a QP: the packets to send, their paths, and reactions to acknowledgements, NACKs and
// silence. It orders the steps; the work is in objects of their own. requester.cc sends, requester_sack.cc handles
// SACKs, requester_ack.cc transport ACKs and NACKs, loss_recovery.cc detects losses and schedules probes. [MRC-REQ-*,
// MRC-LOSS-*, spec/states.md]
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/time.h"
#include "core/burst.h"
#include "core/congestion/config.h"
#include "core/congestion/control.h"
#include "core/delay_histogram.h"
#include "core/ev_rotation.h"
#include "core/loss_detector.h"
#include "core/mtu_suspicion.h"
#include "core/packet_scheduler.h"
#include "core/probe_timer.h"
#include "core/qp_context.h"
#include "core/retransmission_timer.h"
#include "core/rtt_estimator.h"
#include "core/send_completions.h"
#include "core/send_queue.h"
#include "core/sent_packets.h"
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
  PostResult post(Instant now, const SendWr& wr) { return sq_.post(now, wr, qp_.attr.path_mtu); }
  // Writes the packets that may be sent now into `out`. kSent: the caller finishes the builder, and may add a packet
  // before, as the last one has no ICRC yet. Otherwise nothing was added.
  Build build(Instant now, PlaneSet planes_with_room, TxBurst* out, BurstBuilder* builder);

  // Of the last burst built the packets from `psn` on were left out, because the payload could not be read. The QP
  // fails once the request is the oldest [MRC-REQ-11].
  void on_unreadable(Instant now, Psn psn, uint64_t address);
  void on_sack(Instant now, const wire::Packet& p);
  void on_nack(Instant now, const wire::Packet& p);
  void on_transport_ack(Instant now, const wire::Packet& p);
  void on_timer(Instant now);
  Instant deadline() const { return std::min({rto_.deadline(), probe_.deadline(), lost_deadline_}); }

  // Completes everything outstanding: the oldest with `first`, the rest flushed.
  void flush(Instant now, WcStatus first);
  // The QP fails for want of an acknowledgement: the oldest request that has none gets `status`. `expected`: the peer
  // has reported that it did not receive this packet [MRC-ACK-6].
  void fail_unacknowledged(Instant now, WcStatus status, uint64_t expected = UINT64_MAX);
  bool idle() const { return sq_.empty(); }
  bool sending() const { return sent_.open(); }  // it counts among Peer::senders
  // The oldest packet was sent and exceeds the size of packets of that path MTU [MRC-MTU-4].
  bool stuck_above(uint32_t path_mtu) const { return oldest_exceeds(sent_, path_mtu, qp_.engine.config.timestamps); }
  bool may_send() const { return packets_.may_send(); }
  void fill_status(QpStatus* s) const;
  // Of the packets that were sent again and have arrived; null: there were none [MRC-LAT-2].
  const DelayHistogram* retransmission_delays() const { return totals_.retransmission_delays.get(); }
  const EvRotation& rotation() const { return rotation_; }
  void check() const;

 private:
  // The information of a SACK about the packet that caused it.
  struct Named {
    uint64_t seq = 0;
    std::optional<EvIndex> ev;   // that it took, where known
    bool known = false;          // it is in the window's records
    Duration rtt;                // zero: no sample
    bool measures_path = false;  // its round trip may lower the base RTT
  };
  // How the window came about.
  struct Followed {
    uint32_t generation = 0;  // of the peer's meter
    int64_t begun_at = 0;     // a share of the maximum; 0: it was cut or has reached the maximum since
  };
  // Packets that have arrived and were sent together on that EV.
  struct ArrivedBurst {
    EvIndex ev;
    Instant sent_at;
    uint64_t last = 0;
    uint32_t packets = 0, nominal = 0;  // bytes
    bool holds(const TxRecord& r) const { return packets != 0 && r.ev == ev && r.sent_at == sent_at; }
    void add(uint64_t seq, uint32_t bytes) {
      last = seq;
      ++packets;
      nominal += bytes;
    }
  };
  struct Totals {
    uint64_t packets = 0, retransmits = 0, timeouts = 0;
    uint64_t needless = 0;                                  // of the retransmits
    std::unique_ptr<DelayHistogram> retransmission_delays;  // from the first one on: most QPs have none
  };

  // requester.cc
  void make_room();
  void begin_sending();
  uint32_t share_of_room() const;
  void end_sending();
  bool fits(const PacketScheduler::Packet& p, const TxBurst& burst) const;
  bool choose_path(Instant now, PlaneSet planes_with_room, TxBurst* out);
  Build fail_local_protection(Instant now, const Wqe& request);
  bool fail_unreadable(Instant now);
  uint32_t write_headers(Instant now, const PacketScheduler::Packet& p, std::span<uint8_t> out) const;
  void note_sent(Instant now, const PacketScheduler::Packet& p, EvIndex ev);
  void count_burst(const TxBurst& burst);
  const CongestionConfig& congestion_config() const;  // of the profile, or as the endpoint is configured
  uint32_t full_nominal() const;                      // nominal size of a full packet
  void complete_below(Instant now, uint64_t end);
  void complete_front(Instant now, WcStatus status);
  // requester_sack.cc
  Psn psn_of(uint64_t seq) const { return qp_.attr.sq_psn + static_cast<int32_t>(seq & Psn::kMask); }
  int64_t seq_of(Psn psn) const;
  Named read_named(Instant now, const wire::Packet& p, int64_t cack_next) const;
  void on_arrived(Instant now, uint64_t seq, ArrivedBurst* burst);
  void end_arrived(Instant now, ArrivedBurst* burst);
  void on_doubtful_arrived(Instant now, uint64_t seq, SentPackets::Arrival arrival);
  void refute_loss(Instant now, const TxRecord& r, EvIndex ev, Instant sent_at);
  void on_delivered(Instant now, Sending sending, EvIndex ev, bool asked_before, uint32_t packets = 1);
  bool note_duplicate(int64_t seq);
  bool count_needless();
  void note_retransmission_delay(Duration delay);
  void on_arrived_below(Instant now, uint64_t end);
  bool take_arrivals(Instant now, const wire::Seth& seth, uint64_t cack_next);
  void follow_peer_window(uint8_t mpr);
  void update_congestion(Instant now, const wire::Packet& p, const Named& named);
  void take_sample(Duration rtt);
  void follow_meter();
  bool window_is_cut(const CongestionSnapshot& window);
  void apply_path_verdict(Instant now, const wire::Seth& seth, const Named& named);
  void skip_path(Instant now, EvIndex ev, std::optional<uint64_t> seq, TraceTrigger why);
  [[nodiscard]] bool take_probe_answer(Instant now, const wire::Seth& seth, uint64_t cack_next);
  void after_progress(Instant now);
  // requester_ack.cc
  void on_ack(Instant now, uint64_t end);
  void on_nak(Instant now, int64_t seq, uint8_t syndrome);
  void on_refused(Instant now, uint64_t seq, wire::NackReason reason);
  // loss_recovery.cc
  void note_lateness(Instant now, const wire::Packet& p, const Named& named);
  void detect_losses(Instant now, bool has_read);  // all that has arrived
  void mark_lost(Instant now, uint64_t seq, LossCause cause);
  void report_lost(Instant now, LossCause cause, uint64_t seq);
  void trace_window(Instant now, TraceTrigger why, Duration rtt);
  void handle_rto(Instant now);
  bool peer_is_silent(Instant now) const;
  RetransmissionTimer::Expired time_out_packets(Instant now, Duration interval);
  void fail_for_silence(Instant now);
  void arm_rto(Instant now);
  Duration rto_interval() const;
  void arm_probe(Instant now);
  void send_probe(Instant now, TraceTrigger why);
  bool queue_probe(Instant now, TraceTrigger why, EvIndex ev, uint16_t id);
  Duration probe_timeout() const;  // age at which an unanswered probe counts against its path
  void suspect_path_mtu(Instant now);
  bool outstanding() const { return !sent_.all_arrived() || !sq_.empty(); }

  QpContext& qp_;
  SendQueue sq_;
  SentPackets sent_;
  PacketScheduler packets_{&sq_, &sent_};
  std::unique_ptr<CongestionControl> congestion_;  // from start() on
  EvRotation rotation_;
  RttEstimator rtt_;
  LossDetector detector_;
  ProbeTimer probe_;
  RetransmissionTimer rto_;
  Instant lost_deadline_ = Instant::never();  // when to look for losses again, see LossDetector
  Followed followed_;
  SendCompletions completions_;
  Totals totals_;
};

}  // namespace mrc::core
