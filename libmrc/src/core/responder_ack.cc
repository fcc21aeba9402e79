// What the responder answers. Everything that a QP owes leaves as one burst: one SACK per 64-PSN stretch that holds
// something, from the lowest to the highest new packet above cack, one per CE-marked path, and then, shorter and
// therefore last, the transport ACK. So a peer that sends a window of bursts gets a few datagrams back, not one per
// packet. [MRC-SACK-1..9, MRC-ACK-2, MRC-PROBE-4]
#include <algorithm>

#include "core/burst_builder.h"
#include "core/control_queue.h"
#include "core/flows.h"
#include "core/path_prober.h"
#include "core/peer.h"
#include "core/responder.h"
#include "core/tx_scheduler.h"

namespace mrc::core {

namespace {
constexpr Duration kLongHold = Duration::milliseconds(1);
constexpr int64_t kAckedPatience = 16;
}  // namespace

// Base such that its PSN is a multiple of 8 at or below seq; bits below expected_ are then set, which is right under
// both readings of the alignment rule [MRC-CHOICE-Q4].
uint64_t Responder::aligned_base(uint64_t seq) const {
  return seq - (psn_of(seq).value() & 7);
}

uint32_t Responder::write_sack(std::span<uint8_t> out, Instant now, const Trigger& t, uint64_t base,
                               bool probe_reply) const {
  const EngineContext& ep = qp_.engine;
  wire::Bth bth;
  bth.opcode = wire::Opcode::kSack;
  bth.dqp = qp_.attr.dest_qpn;
  bth.pkey = qp_.attr.pkey;
  // The rtx flag keeps the requester from taking a round-trip sample: the trigger was a retransmission [MRC-CHOICE-Q9],
  // or it came so long ago that the 16-bit timestamp cannot tell how long.
  const Duration held = now - t.arrived;
  bth.rtx = !probe_reply && (t.rtx || held >= kLongHold || t.seq < expected_ - 1 - INT16_MAX);
  bth.psn = psn_of(expected_ - 1);
  wire::Seth s;
  s.m = t.ce ? wire::PathVerdict::kSkipOnce : wire::PathVerdict::kNone;
  s.pr = probe_reply;
  s.probe_id = probe_id_;
  // A duplicate from further back than the offset reaches cannot be named; the cumulative PSN is named in its place.
  const auto behind = static_cast<int64_t>(t.seq - (expected_ - 1));
  s.ack_psn_offset = behind >= INT16_MIN && behind <= INT16_MAX ? static_cast<int16_t>(behind) : 0;
  s.entropy = t.ev;
  // [MRC-CHOICE-Q8]
  s.spdcid = static_cast<uint16_t>(qp_.qpn);
  s.dpdcid = static_cast<uint16_t>(qp_.attr.dest_qpn);
  s.cack_psn = bth.psn;
  s.mpr = qp_.attr.dynamic_mpr ? qp_.attr.mpr_dest : 0;
  s.sack_offset = static_cast<int16_t>(static_cast<int64_t>(base - (expected_ - 1)));
  for (uint32_t i = 0; i < wire::kSackBitmapBits; i += 8) {
    // Bit by bit would do; stretches wholly below expected_ or above max_seen_ are the common ones.
    const uint64_t from = base + i;
    if (from + 8 <= expected_) {
      s.sack_bitmap |= 0xFFull << i;
    } else if (from < max_seen_) {
      for (uint32_t j = 0; j < 8; ++j) {
        const uint64_t seq = from + j;
        if (seq < expected_ || (seq < max_seen_ && received_.test(seq))) s.sack_bitmap |= 1ull << (i + j);
      }
    }
  }
  wire::CcState cc;
  // [MRC-CHOICE-Q12] [MRC-CHOICE-Q14]
  if (t.has_timestamp) {
    // The time that we sat on the answer goes into the reflected timestamp, so it does not look like a long path
    // [MRC-CC-4].
    cc.tx_timestamp = static_cast<uint16_t>(t.timestamp + held.ns() / wire::kTimestampTickNs);
  }
  cc.ooo_count = static_cast<uint16_t>(std::min<uint32_t>(ooo_, 0x7FFF));
  cc.restore_cwnd = ep.receiver_penalty.restore_cwnd;
  cc.rcv_cwnd_pen = ep.receiver_penalty.penalty;
  cc.rcvd_bytes = static_cast<uint32_t>((received_bytes_ + wire::kRcvdBytesUnit - 1) / wire::kRcvdBytesUnit) & 0xFFFFFF;
  return wire::encode_sack(out, bth, s, cc);
}

TransportAck Responder::transport_ack(bool nak) const {
  return {qp_.qpn,       qp_.attr.dest_qpn,
          qp_.attr.pkey, psn_of(nak ? fault_seq_ : expected_ - 1),
          msn_,          nak ? fault_syndrome_ : wire::kSyndromeAck};
}

bool Responder::send_nack(Instant now, const wire::Flow& from, Psn psn, uint16_t timestamp, wire::NackReason reason) {
  EngineContext& ep = qp_.engine;
  uint16_t ev;
  wire::Flow flow;
  if (!qp_.peer->paths.pick_answer(UINT32_MAX, &ev) ||
      !make_flow(ep.config, qp_.peer->description, ev, ep.config.dscp.control, &flow))
    return false;
  wire::Bth bth;
  bth.opcode = wire::Opcode::kNack;
  bth.dqp = qp_.attr.dest_qpn;
  bth.pkey = qp_.attr.pkey;
  bth.psn = psn;
  wire::Neth neth;
  neth.reason = reason;
  neth.entropy = wire::ev_of(from);
  neth.spdcid = static_cast<uint16_t>(qp_.qpn);
  neth.dpdcid = static_cast<uint16_t>(qp_.attr.dest_qpn);
  neth.nack_psn = psn;
  neth.tx_timestamp = timestamp;
  if (!qp_.services.control.push(flow, ev, [&](std::span<uint8_t> out) { return wire::encode_nack(out, bth, neth); }))
    return false;
  ep.report(now, qp_.qpn, TraceTrigger::kNone, event::TxNack{.psn = psn, .reason = reason, .ev = wire::ev_of(from)});
  return true;
}

// [MRC-CHOICE-Q29]
void Responder::add_ack(Instant now, BurstBuilder* builder) {
  EngineContext& ep = qp_.engine;
  const TransportAck ack = transport_ack(nak_pending_);
  builder->add(ack.encode(builder->header()), nullptr, 0, 0);
  ep.report(now, qp_.qpn, TraceTrigger::kNone, event::TxAck{.psn = ack.psn, .syndrome = ack.syndrome});
  ack_pending_ = nak_pending_ = false;
  company_.on_sent();
}

void Responder::append_ack(Instant now, BurstBuilder* builder, const TxBurst* burst) {
  constexpr uint32_t kAckBytes = wire::packet_bytes(wire::Opcode::kAck, false, 0);
  const EndpointConfig& c = qp_.engine.config;
  if (!ack_pending_ || nak_pending_ || owes_ || c.trimming || burst->segments >= c.max_segments || !builder->room(0))
    return;
  const bool last_is_full = burst->bytes == burst->segments * burst->segment_size;
  if (!last_is_full || burst->segment_size < kAckBytes || burst->bytes + kAckBytes > c.max_burst_bytes) return;
  const bool complete = max_seen_ == expected_ && named_count_ == 0 && !probe_pending_;
  if (complete && burst->segments == 1 && c.ack_delay > Duration()) {
    const AckCompany::Choice choice = company_.choose(msn_);
    if (choice == AckCompany::Choice::kLeaveOut) {
      ack_deadline_ = now + c.ack_delay;
      qp_.set_deadline(QpHalf::kResponder, deadline());
    }
    if (choice != AckCompany::Choice::kTakeAlong) return;
  }
  add_ack(now, builder);
  // All that the peer waits for has been said. The SACK is for its congestion control alone, which needs one per
  // sack_bytes; a conversation of small messages is not to pay for one of its own each time [MRC-ACK-3].
  if (!complete || !sack_pending_) return;
  ack_deadline_ = now + c.ack_delay * kAckedPatience;
  qp_.set_deadline(QpHalf::kResponder, deadline());
}

bool Responder::build(Instant now, uint32_t planes_with_room, TxBurst* out) {
  EngineContext& ep = qp_.engine;
  uint16_t ev;
  if (!qp_.peer->paths.pick_answer(planes_with_room, &ev)) return false;
  set_flow(ep.config, qp_.peer->description, ev, ep.config.dscp.control, out);
  BurstBuilder builder(out, ep.config.icrc);
  // Where bursts are single packets, what does not fit stays owed and follows in order.
  const uint32_t limit =
      ep.config.max_segments <= 1 ? 1 : std::min<uint32_t>(std::max<uint32_t>(3, ep.config.max_segments), kMaxWalk + 2);
  auto room = [&](uint32_t reserve) { return out->segments + reserve < limit || out->segments == 0; };
  auto add_sack = [&](const Trigger& t, uint64_t base, bool probe_reply) {
    builder.add(write_sack(builder.header(), now, t, base, probe_reply), nullptr, 0, 0);
    ep.report(now, qp_.qpn, TraceTrigger::kNone,
              event::TxSack{.cack = psn_of(expected_ - 1), .base = psn_of(base)});
  };

  bool sack_more = false;
  if (sack_pending_) {
    uint32_t named = 0;
    uint64_t low = std::max(dirty_low_, expected_);
    const uint64_t high = std::min(dirty_high_, max_seen_);
    // Stretches that hold nothing are left out: a packet far ahead of the rest costs one SACK, not one per 64 PSNs.
    auto skip_empty = [&] {
      while (low < high && received_.window(low) == 0) low += wire::kSackBitmapBits;
      while (low < high && !received_.test(low)) ++low;
    };
    skip_empty();
    // A SACK may be lost. Room that its bitmap has above `high` is better used below: most packets are so reported by
    // several SACKs at no cost. A stretch that lies further back is reported once more, by the next burst
    // [MRC-SACK-10].
    const auto base_for = [&](uint64_t first) {
      const uint64_t lowest = aligned_base(expected_);
      uint64_t base = aligned_base(first);
      while (base > lowest && base + wire::kSackBitmapBits >= high + 8) base -= 8;
      return std::max(base, lowest);
    };
    const uint64_t reported_low = low;
    uint64_t covered_low = UINT64_MAX;
    while ((low < high || named < named_count_) && room(2)) {
      const uint64_t base = low < high ? base_for(low) : aligned_base(expected_);
      add_sack(named < named_count_ ? named_[named++] : newest_, base, false);
      if (low < high) {
        covered_low = std::min(covered_low, base);
        low = base + wire::kSackBitmapBits;
      }
      skip_empty();
    }
    again_low_ = std::max(again_low_, expected_);
    if (covered_low <= again_low_) again_low_ = again_high_;
    const bool all_new = low >= high && named == named_count_;
    bool again = again_low_ < again_high_;
    if (again && all_new && room(2)) {
      const uint64_t base = aligned_base(again_low_);
      add_sack(newest_, base, false);
      again_low_ = base + wire::kSackBitmapBits;
      again = false;  // the rest of a long stretch follows behind the next news
    }
    if (again_low_ >= again_high_) {
      again_low_ = reported_low;
      again_high_ = std::min(low, high);
    }
    std::move(named_ + named, named_ + named_count_, named_);
    named_count_ -= named;
    sack_more = low < high || named_count_ > 0 || again;
    dirty_low_ = low < high ? low : UINT64_MAX;
    if (low >= high) dirty_high_ = 0;
    if (probe_pending_) {
      // Last, so that everything sent before the probe has been reported when it is judged.
      if (!sack_more && room(1)) {
        add_sack(probe_, aligned_base(expected_), true);
        probe_pending_ = false;
      } else {
        sack_more = true;
      }
    }
    if (out->segments == 0) add_sack(newest_, aligned_base(expected_), false);
  }
  if (!sack_more && (ack_pending_ || nak_pending_) && room(0)) add_ack(now, &builder);
  builder.finish();
  sack_pending_ = sack_more;
  owes_ = sack_more || ack_pending_ || nak_pending_;
  unsacked_bytes_ = 0;
  ack_deadline_ = Instant::never();
  qp_.set_deadline(QpHalf::kResponder, deadline());
  return out->segments > 0;
}

}  // namespace mrc::core
