// Receiving: each packet of a burst is decoded, its ICRC checked, and handed to the QP half that it concerns.
// Everything in it is hostile until compared; what does not fit is counted and dropped [MRC-RX-1].
#include <algorithm>

#include "base/prefetch.h"
#include "core/endpoint_impl.h"
#include "wire/icrc.h"
#include "wire/udp.h"

namespace mrc::core {

void EndpointImpl::handle_rx(Instant now, const RxBurst& burst) {
  if (burst.plane >= plane_counters.size() || burst.segment_size == 0) return;
  PlaneCounters& plane = plane_counters[burst.plane];
  const uint8_t dscp = burst.flow.dscp();
  const bool last_hop = dscp == config.dscp.trimmed_lasthop;
  const bool trimmed = last_hop || dscp == config.dscp.trimmed;
  uint32_t prefix = 0;
  uint32_t prefix_bytes = 0;
  for (uint32_t offset = 0; offset < burst.bytes;) {
    const uint8_t* data = burst.data + offset;
    const uint32_t n = burst.bytes - offset < burst.segment_size ? burst.bytes - offset : burst.segment_size;
    offset += n;
    prefetch(data + n, std::min(burst.bytes - offset, burst.segment_size));
    ++counters.rx_packets;
    counters.rx_bytes += n;
    ++plane.rx_packets;
    plane.rx_bytes += n;

    wire::Packet p;
    if (trimmed) {
      // Cut packets have no ICRC; they can only ask for a retransmission [MRC-CHOICE-Q24].
      if (wire::decode_trimmed(data, n, &p) != wire::DecodeError::kOk) {
        ++counters.drop_decode;
        continue;
      }
      ++counters.rx_trimmed;
      Qp* qp = find_qp(p.bth.dqp);
      if (qp != nullptr && wire::is_request(p.bth.opcode) &&
          (qp->state == QpState::kRtr || qp->state == QpState::kRts) && is_from(now, qp->peer, burst))
        qp->responder.on_trimmed(now, burst.flow, p, last_hop);
      continue;
    }
    const wire::DecodeError error = wire::decode(data, n, &p);
    if (error != wire::DecodeError::kOk) {
      ++counters.drop_decode;
      trace(now, 0, TraceEvent::kDrop, TraceTrigger::kUndecodable, static_cast<uint64_t>(error), 0);
      continue;
    }
    if (config.icrc) {
      if (n != prefix_bytes) {
        prefix = wire::icrc_start(burst.flow, n);
        prefix_bytes = n;
      }
      const uint32_t crc = wire::icrc_update_headers(prefix, data, n - wire::kIcrcBytes);
      if (wire::icrc_finish(crc) != wire::icrc_load(data + n - wire::kIcrcBytes)) {
        ++counters.drop_icrc;
        trace(now, 0, TraceEvent::kDrop, TraceTrigger::kIcrc, 0, p.bth.psn.value());
        continue;
      }
    }
    dispatch(now, burst, p, n);
  }
}

// Could the peer have sent it? Otherwise it is counted [MRC-SEC-9].
bool EndpointImpl::is_from(Instant now, Peer* peer, const RxBurst& burst) {
  if (!peer->owns(burst.flow.src, burst.plane)) {
    ++counters.drop_source;
    return false;
  }
  if (!peer->comes_by(burst.plane, burst.pipe)) {
    ++counters.drop_beside_pipe;
    return false;
  }
  if (!peer->sends_from(burst.flow.src, burst.plane, burst.flow.src_port)) {
    on_foreign_port(now, peer);
    return false;
  }
  return true;
}

void EndpointImpl::dispatch(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes) {
  using wire::Opcode;
  const wire::Flow& flow = burst.flow;
  const uint8_t plane = burst.plane;
  if (p.bth.opcode == Opcode::kEndpointRequest) return on_endpoint_request(now, flow, plane, p, bytes);
  if (p.bth.opcode == Opcode::kEndpointResponse) return on_endpoint_response(now, flow, p);
  if (p.bth.opcode == Opcode::kPlaneRequest) return on_plane_request(now, flow, plane, p);
  if (p.bth.opcode == Opcode::kPlaneResponse) return on_plane_response(now, flow, plane, p);

  Qp* qp = find_qp(p.bth.dqp);
  if (qp == nullptr) {
    ++counters.drop_no_qp;
    if (wire::is_request(p.bth.opcode) || p.bth.opcode == Opcode::kProbe) answer_for_tombstone(now, burst, p);
    return;
  }
  if (qp->peer == nullptr) {
    ++counters.drop_state;
    return;
  }
  if (!is_from(now, qp->peer, burst)) return;
  const bool receiving = qp->state == QpState::kRtr || qp->state == QpState::kRts;
  if (wire::is_request(p.bth.opcode) || p.bth.opcode == Opcode::kProbe) {
    if (p.bth.opcode == Opcode::kProbe) ++counters.rx_probes;
    if (qp->state == QpState::kError) return qp->responder.on_packet_in_error(now, flow, p);
    if (!receiving) {  // not set up yet: silence, the sender tries again within milliseconds [MRC-QP-4] [API-QP-7]
      ++counters.drop_state;
      return;
    }
    if (p.bth.opcode == Opcode::kProbe) {
      if (qp->peer->paths.on_inbound(now, plane, wire::ev_of(flow))) rearm_peer(qp->peer);
      trace(now, qp->qpn, TraceEvent::kRxProbe, TraceTrigger::kNone, p.peth.probe_id, wire::ev_of(flow));
      qp->responder.on_probe(now, flow, p);
    } else {
      if (flow.ecn() == wire::Ecn::kCe) ++plane_counters[plane].ecn_marks;
      // The paths of answers follow those of the peer's packets, not of a stranger's.
      if (qp->responder.on_request(now, flow, p, bytes) && qp->peer->paths.on_inbound(now, plane, wire::ev_of(flow)))
        rearm_peer(qp->peer);
    }
    return;
  }
  if (qp->state != QpState::kRts) {
    ++counters.drop_state;
    return;
  }
  switch (p.bth.opcode) {
    case Opcode::kSack:
      ++counters.rx_sacks;
      return qp->requester.on_sack(now, p);
    case Opcode::kNack:
      ++counters.rx_nacks;
      return qp->requester.on_nack(now, p);
    case Opcode::kAck:
      ++counters.rx_acks;
      return qp->requester.on_transport_ack(now, p);
    default:
      ++counters.drop_decode;
  }
}

// The QP is gone, the peer's last ACK may be lost: tell it again what had arrived [MRC-RSP-11].
void EndpointImpl::answer_for_tombstone(Instant now, const RxBurst& burst, const wire::Packet& p) {
  const uint32_t index = slot_of(p.bth.dqp);
  if (index >= tombstones_.size()) return;
  Tombstone& t = tombstones_[index];
  if (t.last.qpn != p.bth.dqp || now - t.answered < config.ack_delay) return;
  Peer* from = peer(t.peer);
  if (from == nullptr || !is_from(now, from, burst)) return;
  const bool probe = p.bth.opcode == wire::Opcode::kProbe;
  if (probe || p.bth.psn <= t.last.psn) ack_for_tombstone(now, &t);
}

void EndpointImpl::ack_for_tombstone(Instant now, Tombstone* t) {
  Peer* to = peer(t->peer);
  if (to == nullptr) return;
  uint16_t ev;
  if (!to->paths.pick_control(UINT32_MAX, &ev)) return;
  if (send_ack(now, *to, ev, t->last)) t->answered = now;
}

}  // namespace mrc::core
