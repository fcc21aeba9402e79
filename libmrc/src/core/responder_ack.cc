// The responder's answers. All pending answers of a QP leave as one burst: SACKs (chosen by SackReport), and
// then, shorter and therefore last, the transport ACK. So a peer that sends a window of bursts receives a few datagrams
// instead of one per packet. [MRC-SACK-1..11, MRC-ACK-2, MRC-PROBE-4]
#include <algorithm>

#include "core/burst_builder.h"
#include "core/control_queue.h"
#include "core/flows.h"
#include "core/peer.h"
#include "core/responder.h"
#include "core/tx_scheduler.h"

namespace mrc::core {

namespace {
constexpr Duration kLongHold = Duration::milliseconds(1);
constexpr int64_t kAckedDelayFactor = 16;
}  // namespace

// --- when ----------------------------------------------------------------------------------------------------------

// [MRC-CHOICE-Q15] [MRC-CHOICE-Q16]
void Responder::trigger(Instant now, const wire::Flow& flow, const wire::Packet& p, uint64_t seq, bool at_once,
                        bool again) {
  SackTrigger t;
  t.seq = seq;
  t.ev = wire::ev_of(flow);
  t.has_timestamp = p.bth.ts;
  t.timestamp = p.tseth.tx_timestamp;
  t.ce = flow.ecn() == wire::Ecn::kCe;
  t.rtx = p.bth.rtx;
  t.again = again && !qp_.peer->description.nic;  // [MRC-SACK-11]
  t.arrived = now;
  if (t.ce) ++qp_.engine.counters.rx_ecn;
  sacks_.on_trigger(t);
  pending_acks_.sack = true;
  if (p.bth.ack_req) pending_acks_.ack = true;
  // The triggers of [MRC-SACK-5]: bytes, AckReq, CE, retransmission; the probe is handled separately.
  const Instant latest = now + qp_.engine.config.ack_delay;
  if (at_once || p.bth.ack_req || t.ce || t.rtx) {
    schedule_ack();
  } else if (!pending_acks_.scheduled && ack_deadline_ > latest) {
    delay_ack(latest);
  }
}

void Responder::schedule_ack() {
  pending_acks_.sack = true;
  pending_acks_.scheduled = true;
  qp_.services.scheduler.add_pending_acks(&qp_);
}

void Responder::delay_ack(Instant until) {
  ack_deadline_ = until;
  qp_.set_deadline(QpHalf::kResponder, until);
}

void Responder::flush_acks() {
  if (pending_acks_.sack || pending_acks_.ack) schedule_ack();
}

void Responder::repeat_ack(Instant since) {
  if (received_.expected() == kOrigin || last_request() < since) return;
  pending_acks_.ack = true;
  schedule_ack();
}

void Responder::on_timer(Instant now) {
  if (ack_deadline_ > now) return;
  ack_deadline_ = Instant::never();
  piggyback_.on_silence();
  flush_acks();
}

// One answer is pending at most: that to the last probe [MRC-PROBE-5].
void Responder::on_probe(Instant now, const wire::Flow& flow, const wire::Packet& p) {
  SackTrigger t;
  t.ev = wire::ev_of(flow);
  t.timestamp = p.peth.timestamp.tx_timestamp;
  t.has_timestamp = true;
  t.ce = flow.ecn() == wire::Ecn::kCe;
  t.arrived = now;
  sacks_.on_probe(t, p.peth.probe_id, received_);
  pending_acks_.ack = true;  // the answer is complete, and so the transport ACK is repeated, too [MRC-PROBE-4]
  schedule_ack();
}

// --- what ----------------------------------------------------------------------------------------------------------

uint32_t Responder::write_sack(std::span<uint8_t> out, Instant now, const SackTrigger& t, uint64_t base,
                               bool probe_reply) const {
  const uint64_t cumulative = received_.expected() - 1;
  const Duration held = now - t.arrived;
  wire::Bth bth;
  bth.opcode = wire::Opcode::kSack;
  bth.dqp = qp_.attr.dest_qpn;
  bth.pkey = qp_.attr.pkey;
  // The rtx flag keeps the requester from taking a round-trip sample: the trigger was a retransmission [MRC-CHOICE-Q9],
  // or it arrived so long ago that the 16-bit timestamp has wrapped.
  bth.rtx = !probe_reply && (t.rtx || held >= kLongHold || t.seq < cumulative - INT16_MAX);
  bth.ack_req = t.again;  // [MRC-SACK-11]
  bth.psn = psn_of(cumulative);
  wire::Seth s;
  s.m = t.ce ? wire::PathVerdict::kSkipOnce : wire::PathVerdict::kNone;
  s.pr = probe_reply;
  s.probe_id = sacks_.probe_id();
  // A duplicate from further back than the offset reaches cannot be named; the cumulative PSN is named in its place.
  const auto behind = static_cast<int64_t>(t.seq - cumulative);
  s.ack_psn_offset = behind >= INT16_MIN && behind <= INT16_MAX ? static_cast<int16_t>(behind) : 0;
  s.entropy = t.ev;
  // [MRC-CHOICE-Q8]
  s.spdcid = static_cast<uint16_t>(qp_.qpn.value());
  s.dpdcid = static_cast<uint16_t>(qp_.attr.dest_qpn.value());
  s.cack_psn = bth.psn;
  s.mpr = qp_.attr.dynamic_mpr ? qp_.attr.mpr_dest : 0;
  s.sack_offset = static_cast<int16_t>(static_cast<int64_t>(base - cumulative));
  s.sack_bitmap = sack_bitmap(base);
  return wire::encode_sack(out, bth, s, cc_state(t, held));
}

uint64_t Responder::sack_bitmap(uint64_t base) const {
  uint64_t bitmap = 0;
  for (uint32_t i = 0; i < wire::kSackBitmapBits; i += 8) {
    // Bit by bit would suffice; ranges wholly below the next packet or above the last are the common ones.
    const uint64_t from = base + i;
    if (from + 8 <= received_.expected()) {
      bitmap |= 0xFFull << i;
    } else if (from < received_.end()) {
      for (uint32_t j = 0; j < 8; ++j)
        if (received_.contains(from + j)) bitmap |= 1ull << (i + j);
    }
  }
  return bitmap;
}

// [MRC-CHOICE-Q12] [MRC-CHOICE-Q14]
wire::CcState Responder::cc_state(const SackTrigger& t, Duration held) const {
  wire::CcState cc;
  // The responder's ACK delay is added to the reflected timestamp, so it does not look like a long path [MRC-CC-4].
  if (t.has_timestamp) cc.tx_timestamp = static_cast<uint16_t>(t.timestamp + held.ns() / wire::kTimestampTickNs);
  cc.ooo_count = static_cast<uint16_t>(std::min<uint32_t>(received_.out_of_order(), 0x7FFF));
  cc.restore_cwnd = qp_.engine.receiver_penalty.restore_cwnd;
  cc.rcv_cwnd_pen = qp_.engine.receiver_penalty.penalty;
  const uint64_t units = (received_.nominal_bytes() + wire::kRcvdBytesUnit - 1) / wire::kRcvdBytesUnit;
  cc.rcvd_bytes = static_cast<uint32_t>(units) & 0xFFFFFF;
  return cc;
}

TransportAck Responder::transport_ack(bool nak) const {
  return {qp_.qpn,       qp_.attr.dest_qpn,
          qp_.attr.pkey, psn_of(nak ? fault_.seq : received_.expected() - 1),
          msn_,          nak ? fault_.syndrome : wire::kSyndromeAck};
}

bool Responder::send_nack(Instant now, const wire::Flow& from, Psn psn, uint16_t timestamp, wire::NackReason reason) {
  EngineContext& engine = qp_.engine;
  const std::optional<EvIndex> ev = qp_.peer->paths.pick_answer(PlaneSet::all());
  if (!ev) return false;
  const std::optional<wire::Flow> flow =
      make_flow(engine.config, qp_.peer->description, *ev, engine.config.dscp.control);
  if (!flow) return false;
  wire::Bth bth;
  bth.opcode = wire::Opcode::kNack;
  bth.dqp = qp_.attr.dest_qpn;
  bth.pkey = qp_.attr.pkey;
  bth.psn = psn;
  wire::Neth neth;
  neth.reason = reason;
  neth.entropy = wire::ev_of(from);
  neth.spdcid = static_cast<uint16_t>(qp_.qpn.value());
  neth.dpdcid = static_cast<uint16_t>(qp_.attr.dest_qpn.value());
  neth.nack_psn = psn;
  neth.tx_timestamp = timestamp;
  if (!qp_.services.control.push(*flow, *ev, [&](std::span<uint8_t> out) { return wire::encode_nack(out, bth, neth); }))
    return false;
  engine.report(now, qp_.qpn, TraceTrigger::kNone,
                event::TxNack{.psn = psn, .reason = reason, .ev = wire::ev_of(from)});
  return true;
}

// --- how -----------------------------------------------------------------------------------------------------------

// [MRC-CHOICE-Q29]
void Responder::add_ack(Instant now, BurstBuilder* builder) {
  const TransportAck ack = transport_ack(pending_acks_.nak);
  builder->add(ack.encode(builder->header()), nullptr, 0, 0);
  qp_.engine.report(now, qp_.qpn, TraceTrigger::kNone, event::TxAck{.psn = ack.psn, .syndrome = ack.syndrome});
  pending_acks_.ack = pending_acks_.nak = false;
  piggyback_.on_sent();
}

void Responder::append_ack(Instant now, BurstBuilder* builder, const TxBurst* burst) {
  constexpr uint32_t kAckBytes = wire::packet_bytes(wire::Opcode::kAck, false, 0);
  const EndpointConfig& c = qp_.engine.config;
  if (!pending_acks_.ack || pending_acks_.nak || pending_acks_.scheduled || c.trimming ||
      burst->segments >= c.max_segments || !builder->room(0))
    return;
  const bool last_is_full = burst->bytes == burst->segments * burst->segment_size;
  if (!last_is_full || burst->segment_size < kAckBytes || burst->bytes + kAckBytes > c.max_burst_bytes) return;
  const bool complete = received_.end() == received_.expected() && sacks_.only_cumulative();
  if (complete && burst->segments == 1 && c.ack_delay > Duration()) {
    const AckPiggybackPolicy::Choice choice = piggyback_.choose(msn_);
    if (choice == AckPiggybackPolicy::Choice::kLeaveOut) delay_ack(now + c.ack_delay);
    if (choice != AckPiggybackPolicy::Choice::kPiggyback) return;
  }
  add_ack(now, builder);
  // The peer has all the information it waits for. The SACK serves only its congestion control, which needs one per
  // sack_bytes; an exchange of small messages must not cost a separate SACK each time [MRC-ACK-3].
  if (complete && pending_acks_.sack) delay_ack(now + c.ack_delay * kAckedDelayFactor);
}

bool Responder::build(Instant now, PlaneSet planes_with_room, TxBurst* out) {
  EngineContext& engine = qp_.engine;
  const std::optional<EvIndex> ev = qp_.peer->paths.pick_answer(planes_with_room);
  if (!ev) return false;
  set_flow(engine.config, qp_.peer->description, *ev, engine.config.dscp.control, out);
  BurstBuilder builder(out, engine.config.icrc);
  // Where bursts are single packets, the rest stays pending and follows in order.
  const uint32_t max_segments = engine.config.max_segments;
  const uint32_t limit = max_segments <= 1 ? 1 : std::min(std::max<uint32_t>(3, max_segments), kMaxSacks + 2);
  const auto room = [&](uint32_t reserve) { return out->segments + reserve < limit || out->segments == 0; };
  const auto add_sack = [&](const SackTrigger& t, uint64_t base, bool probe_reply) {
    builder.add(write_sack(builder.header(), now, t, base, probe_reply), nullptr, 0, 0);
    engine.report(now, qp_.qpn, TraceTrigger::kNone,
                  event::TxSack{.cack = psn_of(received_.expected() - 1), .base = psn_of(base)});
  };
  pending_acks_.sack = pending_acks_.sack && sacks_.write(received_, psn_of(kOrigin), room, add_sack);
  const uint32_t acks = pending_acks_.ack || pending_acks_.nak ? 1 : 0;
  while (!pending_acks_.sack && sacks_.duplicates_left() && out->segments + acks < limit)
    sacks_.write_duplicate(received_, psn_of(kOrigin), add_sack);
  if (!pending_acks_.sack && acks > 0 && room(0)) add_ack(now, &builder);
  builder.finish();
  pending_acks_.scheduled = pending_acks_.sack || pending_acks_.ack || pending_acks_.nak || sacks_.duplicates_left();
  sacks_.on_reported();
  delay_ack(Instant::never());
  return out->segments > 0;
}

}  // namespace mrc::core
