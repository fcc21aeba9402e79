// What leaves next: single control packets first, then data with each QP taking one burst in turn, and the SACKs and
// ACKs that QPs owe between them. A QP that sends data has its owed answers follow behind, so that a reply is not held
// up by the acknowledgement of the request; but only so far behind, whatever it has to send [MRC-TX-1].
#include "core/burst_builder.h"
#include "core/endpoint_impl.h"
#include "wire/udp.h"

namespace mrc::core {

namespace {
constexpr uint32_t kDataBeforeAnswers = 4;  // bursts
}

bool EndpointImpl::fill_flow(wire::Flow* flow, const Peer& to, uint16_t ev, uint8_t dscp) const {
  const EvEntry& e = config.evs[ev];
  if (e.plane >= to.description.planes.size() || e.plane >= config.planes.size()) return false;
  flow->src = config.planes[e.plane].addr;
  flow->dst = to.description.planes[e.plane].addr;
  flow->src_port = static_cast<uint16_t>(e.value);
  flow->dst_port = to.description.planes[e.plane].port;
  // [MRC-EV-2] [MRC-CHOICE-Q3]
  flow->flow_label = flow->dst.is_v4() ? 0 : e.value >> 16;
  flow->traffic_class = static_cast<uint8_t>(dscp << 2 | static_cast<uint8_t>(wire::Ecn::kEct0));
  return true;
}

void EndpointImpl::set_flow(TxBurst* out, const Peer& to, uint16_t ev, uint8_t dscp) const {
  fill_flow(&out->flow, to, ev, dscp);
  out->plane = config.evs[ev].plane;
  out->ev_index = ev;
}

bool EndpointImpl::queue_one_off(const wire::Flow& flow, uint16_t ev, const uint8_t* headers, uint32_t length,
                                 uint32_t padding) {
  return one_offs_.push(config, flow, ev, headers, length, padding);
}

bool EndpointImpl::is_peer_address(const IpAddress& addr) const {
  for (const auto& p : peers_)
    if (p != nullptr && p->owns(addr, 0)) return true;
  return false;
}

bool EndpointImpl::queue_reply(Instant now, const wire::Flow& flow, uint16_t ev, const uint8_t* headers,
                               uint32_t length, uint32_t asked) {
  if (reply_limiter_.allow(now, flow.dst, is_peer_address(flow.dst), asked, length + wire::kIcrcBytes) &&
      replies_.push(config, flow, ev, headers, length, 0))
    return true;
  ++counters.drop_replies;
  return false;
}

bool EndpointImpl::OneOffQueue::push(const EndpointConfig& c, const wire::Flow& flow, uint16_t ev,
                                     const uint8_t* headers, uint32_t length, uint32_t padding) {
  if (count == slots.size() || length + wire::kIcrcBytes > kControlRoom) return false;
  OneOff& o = slots[(head + count++) % slots.size()];
  o.flow = flow;
  o.plane = c.evs[ev].plane;
  o.ev_index = ev;
  std::memcpy(o.bytes.data(), headers, length);
  o.length = static_cast<uint8_t>(length + wire::kIcrcBytes);
  o.padding = static_cast<uint16_t>(padding);
  if (padding != 0) return true;  // its ICRC is computed when it leaves
  const uint32_t crc = c.icrc ? wire::icrc_compute(flow, o.bytes.data(), o.length) : 0;
  wire::icrc_store(o.bytes.data() + length, crc);
  return true;
}

bool EndpointImpl::send_ack(Instant now, const Peer& to, uint16_t ev, const TransportAck& ack) {
  wire::Flow flow;
  uint8_t packet[kHeaderRoom];
  if (!fill_flow(&flow, to, ev, config.dscp.control) || !queue_one_off(flow, ev, packet, ack.encode(packet)))
    return false;
  ++counters.tx_acks;
  trace(now, ack.qpn, TraceEvent::kTxAck, TraceTrigger::kNone, ack.psn.value(), ack.syndrome);
  return true;
}

bool EndpointImpl::send_nack(Instant now, Qp* qp, const wire::Flow& from, Psn psn, uint16_t timestamp,
                             wire::NackReason reason) {
  uint16_t ev;
  wire::Flow flow;
  if (!qp->peer->paths.pick_answer(UINT32_MAX, &ev) || !fill_flow(&flow, *qp->peer, ev, config.dscp.control))
    return false;
  wire::Bth bth;
  bth.opcode = wire::Opcode::kNack;
  bth.dqp = qp->attr.dest_qpn;
  bth.pkey = qp->attr.pkey;
  bth.psn = psn;
  wire::Neth neth;
  neth.reason = reason;
  neth.entropy = wire::ev_of(from);
  neth.spdcid = static_cast<uint16_t>(qp->qpn);
  neth.dpdcid = static_cast<uint16_t>(qp->attr.dest_qpn);
  neth.nack_psn = psn;
  neth.tx_timestamp = timestamp;
  uint8_t packet[kHeaderRoom];
  if (!queue_one_off(flow, ev, packet, wire::encode_nack(packet, bth, neth))) return false;
  ++counters.tx_nacks;
  trace(now, qp->qpn, TraceEvent::kTxNack, TraceTrigger::kNone, psn.value(), static_cast<uint64_t>(reason),
        wire::ev_of(from));
  return true;
}

void EndpointImpl::count_tx(const TxBurst& b) {
  ++counters.tx_bursts;
  counters.tx_packets += b.segments;
  counters.tx_bytes += b.bytes;
  PlaneCounters& plane = plane_counters[b.plane];
  plane.tx_packets += b.segments;
  plane.tx_bytes += b.bytes;
}

bool EndpointImpl::send_one_off(OneOffQueue* queue, TxBurst* out, uint32_t planes_with_room) {
  while (queue->count > 0) {
    OneOff& o = queue->slots[queue->head];
    const bool down = !((planes_up >> o.plane) & 1);
    if (!down && !((planes_with_room >> o.plane) & 1)) break;
    queue->head = (queue->head + 1) % queue->slots.size();
    --queue->count;
    if (down) continue;
    out->flow = o.flow;
    out->plane = o.plane;
    out->ev_index = o.ev_index;
    out->segments = 1;
    out->segment_size = out->bytes = o.length;
    std::memcpy(out->headers.data(), o.bytes.data(), o.length);
    out->iov_count = 1;
    out->iov[0] = {out->headers.data(), o.length};
    if (o.padding != 0) {
      const uint32_t headers = o.length - wire::kIcrcBytes;
      padded_.assign(o.length + size_t{o.padding}, 0);
      std::memcpy(padded_.data(), o.bytes.data(), headers);
      const auto n = static_cast<uint32_t>(padded_.size());
      wire::icrc_store(&padded_[n - wire::kIcrcBytes], config.icrc ? wire::icrc_compute(o.flow, padded_.data(), n) : 0);
      out->segment_size = out->bytes = n;
      out->iov[0] = {padded_.data(), n};
    }
    count_tx(*out);
    return true;
  }
  return false;
}

bool EndpointImpl::poll_tx(Instant now, TxBurst* out, uint32_t planes_with_room) {
  planes_with_room &= planes_up;
  out->segments = 0;
  if (send_one_off(&one_offs_, out, planes_with_room) || send_one_off(&replies_, out, planes_with_room)) return true;
  // Answers first, except where the QP is about to send data itself: then they go behind it, unless the driver sends
  // single packets.
  if (planes_with_room == 0) return false;
  if (Qp* control = control_.front();
      control != nullptr &&
      (config.answers_first || !control->ready.linked || data_before_answers_ >= kDataBeforeAnswers) &&
      send_owed(now, out, planes_with_room))
    return true;
  // A QP whose paths are all shut must not hold up the others: it goes to the back, and one lap is enough.
  Qp* first_stuck = nullptr;
  for (Qp* qp = ready_.front(); qp != nullptr && qp != first_stuck; qp = ready_.front()) {
    out->segments = 0;
    const bool live = qp->state == QpState::kRts;
    const Requester::Build result = live ? qp->requester.build(now, planes_with_room, out) : Requester::Build::kNothing;
    ready_.remove(qp);
    if (result == Requester::Build::kNothing) continue;
    if (result == Requester::Build::kNoRoom || qp->requester.may_send()) ready_.push_back(qp);
    if (result == Requester::Build::kNoRoom) {
      if (first_stuck == nullptr) first_stuck = qp;
      continue;
    }
    qp->responder.flush_behind_data();
    if (!control_.empty()) ++data_before_answers_;
    count_tx(*out);
    return true;
  }
  return send_owed(now, out, planes_with_room);
}

// One burst of what some QP owes.
bool EndpointImpl::send_owed(Instant now, TxBurst* out, uint32_t planes_with_room) {
  Qp* first_stuck = nullptr;
  for (Qp* qp = control_.front(); qp != nullptr && qp != first_stuck; qp = control_.front()) {
    out->segments = 0;
    const bool sent = qp->peer != nullptr && qp->responder.build(now, planes_with_room, out);
    control_.remove(qp);
    if (qp->peer != nullptr && qp->responder.owes()) control_.push_back(qp);
    if (sent) {
      data_before_answers_ = 0;
      count_tx(*out);
      return true;
    }
    if (first_stuck == nullptr) first_stuck = qp;
    if (!qp->control.linked) first_stuck = nullptr;
  }
  return false;
}

void EndpointImpl::handle_timeout(Instant now) {
  while (TimerNode* n = timers.pop_due(now)) {
    if (n == &op_timer_) {
      handle_op_timeouts(now);
    } else if (n == &learn_timer_) {
      handle_learn_timeouts(now);
    } else if (n->is_qp) {
      Qp* qp = static_cast<Qp*>(n->owner);
      qp->responder.on_timer(now);
      if (qp->state == QpState::kRts) qp->requester.on_timer(now);
      qp->rearm();
    } else {
      probe_paths(now, static_cast<Peer*>(n->owner));
    }
  }
}

}  // namespace mrc::core
