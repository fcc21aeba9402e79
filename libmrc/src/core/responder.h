// Responder: the receiving half of a QP: window and duplicate rules, placement on arrival, completions in order, and
// the acknowledgements it owes. responder.cc receives; responder_ack.cc builds SACKs, transport ACKs and NAKs.
// [MRC-RSP-*, MRC-SACK-*, spec/states.md]
#pragma once

#include <cstdint>
#include <vector>

#include "base/bitmap.h"
#include "base/time.h"
#include "core/ack_company.h"
#include "core/burst.h"
#include "core/message_map.h"
#include "core/qp_context.h"
#include "core/transport_ack.h"
#include "core/types.h"
#include "wire/packet.h"

namespace mrc::core {

class BurstBuilder;
class Responder {
 public:
  explicit Responder(QpContext* qp) : qp_(*qp) {}

  void init(const QpCaps& caps);
  void start();  // on the way to RTR
  void reset();
  PostResult post_recv(Instant now, uint64_t wr_id);

  // True: the packet fits what was accepted, so the peer has most likely sent it.
  bool on_request(Instant now, const wire::Flow& flow, const wire::Packet& p, uint32_t udp_bytes);
  void on_trimmed(Instant now, const wire::Flow& flow, const wire::Packet& p, bool last_hop);
  void on_probe(Instant now, const wire::Flow& flow, const wire::Packet& p);
  // Request or probe for a QP in error: repeat the verdict, or say that none will come [MRC-RSP-12].
  void on_packet_in_error(Instant now, const wire::Flow& flow, const wire::Packet& p);
  void on_timer(Instant now);
  Instant deadline() const { return ack_deadline_; }

  bool owes() const { return owes_; }
  void flush_acks();               // what is coalesced becomes due
  void repeat_ack(Instant since);  // the last answer becomes due again, if a request came since then [MRC-RSP-13]
  // Everything owed as one burst: SACKs, then the transport ACK. False when no plane has room.
  bool build(Instant now, uint32_t planes_with_room, TxBurst* out);

  // Puts the owed transport ACK behind the data of a burst that is being built, where it costs no system call of its
  // own; the SACK then waits for its timer. Only as a shorter last segment, and not where switches trim data. Behind a
  // single packet not each time, when the peer goes on without [MRC-ACK-3].
  void append_ack(Instant now, BurstBuilder* builder, const TxBurst* burst);
  // Data has left: an ACK that found no place in it follows at once.
  void flush_behind_data() {
    if (ack_pending_ && !company_.left_out()) owe_now();
  }

  void flush();  // receive queue, with flush errors
  // The packet that is next has been refused: a NAK says so, and nothing comes after it.
  bool faulted() const { return faulted_; }
  TransportAck transport_ack(bool nak) const;
  Instant last_request() const { return newest_.arrived; }
  uint64_t rx_packets() const { return rx_packets_; }

 private:
  static constexpr uint64_t kOrigin = MessageMap::kOrigin;  // seq of rq_psn; leaves room below for negative offsets
  static constexpr uint32_t kMaxNamed = 4;
  static constexpr uint32_t kMaxWalk = 16;

  struct Trigger {
    uint64_t seq = 0;
    uint32_t ev = 0;
    uint16_t timestamp = 0;
    bool has_timestamp = false;
    bool ce = false;
    bool rtx = false;
    Instant arrived;
  };
  struct PendingImm {
    uint64_t seq = 0;
    uint32_t imm = 0;
    uint32_t length = 0;
    uint16_t rqmsn = 0;
    bool used = false;
    bool mailbox = false;
  };

  Psn psn_of(uint64_t seq) const;
  enum class Delivery : uint8_t { kDone, kWaits, kLost, kOutOfOrder };
  // Where a packet's payload goes; false: its key, range or access forbids it. `to` is null where there is no payload.
  bool find_place(const wire::Packet& p, uint8_t** to) const;
  bool well_shaped(const wire::Packet& p, uint32_t packets) const;
  bool on_misfit(Instant now, const wire::Packet& p, const MessageMap::Verdict& v, uint64_t seq);
  bool refuse(Instant now, const wire::Packet& p, uint64_t seq, uint8_t syndrome);
  bool same_content(const wire::Packet& p, uint64_t seq) const;
  PendingImm* slot_for(const wire::Packet& p);
  void advance(Instant now);
  Delivery deliver_imm(Instant now, uint64_t seq);
  void fail(Instant now, uint64_t seq, uint8_t syndrome, AsyncEvent event);
  void contradict(Instant now, uint64_t seq);
  void trigger(Instant now, const wire::Flow& flow, const wire::Packet& p, uint64_t seq, bool now_please);
  void owe_now();
  void add_ack(Instant now, BurstBuilder* builder);
  bool send_nack(Instant now, const wire::Flow& from, Psn psn, uint16_t timestamp, wire::NackReason reason);
  uint32_t write_sack(std::span<uint8_t> out, Instant now, const Trigger& t, uint64_t base, bool probe_reply) const;
  uint64_t aligned_base(uint64_t seq) const;

  QpContext& qp_;
  RingBitmap received_;
  MessageMap messages_;
  std::vector<uint64_t> mailbox_content_;  // hash of what the last window of PSNs wrote to the mailbox
  std::vector<PendingImm> pending_imm_;    // by RQMSN, a power of two of them because RQMSN wraps at 2^16
  uint32_t imms_pending_ = 0, imm_hint_ = 0;
  uint16_t last_rqmsn_ = 0;  // of the last immediate delivered
  bool rqmsn_known_ = false;
  std::vector<uint64_t> recv_queue_;
  uint64_t recv_mask_ = 0, recv_head_ = 0, recv_tail_ = 0;
  uint32_t recv_limit_ = 0;
  uint32_t window_ = 0;                               // PSNs accepted from expected_ on
  uint64_t expected_ = kOrigin;                       // cack_psn + 1
  uint64_t max_seen_ = kOrigin;                       // one past the highest packet received
  uint64_t dirty_low_ = UINT64_MAX, dirty_high_ = 0;  // received above expected_ since the last SACK
  uint64_t again_low_ = 0, again_high_ = 0;           // reported once above expected_, in a SACK that may be lost
  uint64_t received_bytes_ = 0;                       // nominal, what rcvd_bytes counts
  uint32_t ooo_ = 0;
  uint32_t msn_ = 0;
  uint32_t unsacked_bytes_ = 0;
  Instant ack_deadline_ = Instant::never();
  Instant last_refusal_ = Instant::from_ns(INT64_MIN / 4);
  Trigger newest_;
  Trigger named_[kMaxNamed];
  uint32_t named_count_ = 0;
  Trigger probe_;
  uint16_t probe_id_ = 0;
  bool probe_pending_ = false;
  bool held_ = false;  // the message at expected_ waits for a receive work request
  bool owes_ = false;  // in the endpoint's control list
  bool sack_pending_ = false;
  bool ack_pending_ = false;
  bool faulted_ = false;
  uint64_t rx_packets_ = 0;
  uint64_t fault_seq_ = 0;
  uint8_t fault_syndrome_ = 0;
  bool nak_pending_ = false;
  AckCompany company_;
};

}  // namespace mrc::core
