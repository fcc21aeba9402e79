// Responder: the receiving half of a QP: window and duplicate rules, placement on arrival, completions in order, and
// its acknowledgements. responder.cc receives, responder_delivery.cc completes messages in order, responder_ack.cc
// answers; arrived packets, the content of SACKs, pending immediates and receive requests are objects of their own.
// [MRC-RSP-*, MRC-SACK-*, spec/states.md]
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/time.h"
#include "core/ack_piggyback_policy.h"
#include "core/burst.h"
#include "core/early_payloads.h"
#include "core/mailbox_content.h"
#include "core/message_map.h"
#include "core/pending_imms.h"
#include "core/qp_context.h"
#include "core/received_packets.h"
#include "core/recv_queue.h"
#include "core/sack_report.h"
#include "core/transport_ack.h"
#include "core/types.h"
#include "wire/packet.h"

namespace mrc::core {

class BurstBuilder;

class Responder {
 public:
  explicit Responder(QpContext* qp) : qp_(*qp), early_(&qp->engine.pools.early_payloads) {}

  void init(const QpCaps& caps) { recv_queue_.init(caps.max_recv_wr); }
  void start();  // on the way to RTR
  void reset();
  PostResult post_recv(Instant now, uint64_t wr_id);

  // True: the packet fits what was accepted, so the peer has most likely sent it.
  bool on_request(Instant now, const wire::Flow& flow, const wire::Packet& p, uint32_t udp_bytes);
  void on_trimmed(Instant now, const wire::Flow& flow, const wire::Packet& p, bool last_hop);
  void on_probe(Instant now, const wire::Flow& flow, const wire::Packet& p);
  // Request or probe for a QP in error: repeats the NAK, or reports that none will follow [MRC-RSP-12].
  void on_packet_in_error(Instant now, const wire::Flow& flow, const wire::Packet& p);
  void on_timer(Instant now);
  Instant deadline() const { return ack_deadline_; }

  bool has_pending_acks() const { return pending_acks_.scheduled; }
  void flush_acks();               // coalesced answers become due
  void repeat_ack(Instant since);  // the last answer becomes due again, if a request came since then [MRC-RSP-13]
  // All pending answers as one burst: SACKs, then the transport ACK. False when no plane has room.
  bool build(Instant now, PlaneSet planes_with_room, TxBurst* out);

  // Puts the pending transport ACK behind the data of a burst that is being built, where it costs no system call of its
  // own; the SACK then waits for its timer. Only as a shorter last segment, and not where switches trim data. Behind a
  // single packet not every time, if the peer continues without it [MRC-ACK-3].
  void append_ack(Instant now, BurstBuilder* builder, const TxBurst* burst);
  // Data was sent: an ACK that did not fit follows at once.
  void flush_behind_data() {
    if (pending_acks_.ack && !piggyback_.left_out()) schedule_ack();
  }

  void flush();  // receive queue, with flush errors; payloads that waited are not written
  // The next packet in order was refused: a NAK reports it, and no later packet is completed.
  bool faulted() const { return fault_.present; }
  TransportAck transport_ack(bool nak) const;
  Instant last_request() const { return sacks_.newest().arrived; }
  uint64_t rx_packets() const { return received_.packets(); }
  void check() const;

 private:
  static constexpr uint64_t kOrigin = ReceivedPackets::kOrigin;  // seq of rq_psn; leaves room below
  static constexpr uint32_t kMaxSacks = 16;                      // of one burst
  static constexpr uint32_t kMinStreamed = 2048;                 // bytes of payload

  // Answers that are due or being coalesced.
  struct PendingAcks {
    bool sack = false, ack = false, nak = false;
    bool scheduled = false;  // in the scheduler's list
  };
  struct Fault {
    uint64_t seq = 0;
    uint8_t syndrome = 0;
    bool present = false;
    uint64_t address = 0;  // that the payload which was dropped last could not be written to
  };
  struct Refusals {
    Instant last = kLongAgo;  // of a packet outside of the window, or for a QP in error
    Instant at_latest;        // though messages to the mailbox are not answered
    uint32_t messages = 0;    // to the mailbox, since the QP was reset
  };
  enum class Delivery : uint8_t { kDone, kWaits, kLost, kOutOfOrder };

  // responder.cc
  Psn psn_of(uint64_t seq) const;
  uint64_t seq_of(int32_t delta) const { return received_.expected() + static_cast<uint64_t>(int64_t{delta}); }
  bool refuse_outside_window(Instant now, const wire::Flow& flow, const wire::Packet& p);
  MessageClaim claim_of(const wire::Packet& p, uint64_t seq) const;
  bool well_shaped(const wire::Packet& p, uint32_t packets) const;
  bool on_misshapen(Instant now, const wire::Packet& p, const MessageClaim& claim);
  bool on_duplicate(Instant now, const wire::Flow& flow, const wire::Packet& p, uint64_t seq, MessageMap::Fit fit,
                    uint32_t udp_bytes);
  enum class Placed : uint8_t { kYes, kTooManyImms, kMemoryGone };
  Placed place(const wire::Packet& p, const MessageClaim& claim, const MessageMap::Verdict& verdict, uint8_t* to);
  // The payload of `n` bytes is placed by stores that bypass the caches: only where the wait for them, one per packet,
  // costs little beside the copy.
  bool streams(uint32_t n) const { return n >= kMinStreamed && qp_.engine.placement.stream; }
  bool write_payload(uint8_t* to, const uint8_t* from, uint32_t n);
  bool refuse_unwritable(Instant now, const wire::Packet& p, uint64_t seq);
  void fail_unwritable(Instant now, Key rkey, uint64_t seq);
  // Destination of `n` bytes of a packet's payload, null where nothing is to be stored. None: its key, range or access
  // is bad.
  std::optional<uint8_t*> find_place(Key rkey, uint64_t va, uint32_t n) const;
  std::optional<uint8_t*> find_place(const wire::Packet& p) const {
    return find_place(p.req.reth.rkey, p.req.reth.va, p.payload_len);
  }
  bool on_misfit(Instant now, const wire::Packet& p, const MessageMap::Verdict& v, uint64_t seq);
  bool refuse(Instant now, const wire::Packet& p, uint64_t seq, uint8_t syndrome);
  PendingImm* add_imm(const wire::Packet& p, uint64_t seq);
  void expect_mailbox_answer(Instant now);
  bool answers_are_due(Instant now) const;
  void fail(Instant now, uint64_t seq, uint8_t syndrome, AsyncEvent event);
  void contradict(Instant now, uint64_t seq);
  // responder_delivery.cc
  void advance(Instant now);
  bool write_early(Instant now, uint64_t seq);
  bool finish_message(Instant now);
  Delivery deliver_imm(Instant now, uint64_t seq);
  // responder_ack.cc
  // `again`: a request packet that had arrived before.
  void trigger(Instant now, const wire::Flow& flow, const wire::Packet& p, uint64_t seq, bool at_once,
               bool again = false);
  void schedule_ack();
  void delay_ack(Instant until);
  void add_ack(Instant now, BurstBuilder* builder);
  bool send_nack(Instant now, const wire::Flow& from, Psn psn, uint16_t timestamp, wire::NackReason reason);
  uint32_t write_sack(std::span<uint8_t> out, Instant now, const SackTrigger& t, uint64_t base, bool probe_reply) const;
  uint64_t sack_bitmap(uint64_t base) const;
  wire::CcState cc_state(const SackTrigger& t, Duration held) const;

  QpContext& qp_;
  ReceivedPackets received_;
  MessageMap messages_;
  MailboxContent mailbox_content_;
  EarlyPayloads early_;
  PendingImms imms_;
  RecvQueue recv_queue_;
  SackReport sacks_;
  PendingAcks pending_acks_;
  AckPiggybackPolicy piggyback_;
  Fault fault_;
  Instant ack_deadline_ = Instant::never();
  Refusals refusals_;
  uint32_t msn_ = 0;
  bool held_ = false;  // the next message waits for a receive work request
};

}  // namespace mrc::core
