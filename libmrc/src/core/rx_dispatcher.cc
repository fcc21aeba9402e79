#include "core/rx_dispatcher.h"

#include <algorithm>

#include "base/prefetch.h"
#include "core/datagram_table.h"
#include "core/path_prober.h"
#include "core/plane_discovery.h"
#include "invariant.h"
#include "wire/icrc.h"
#include "wire/udp.h"

namespace mrc::core {

void RxDispatcher::handle(Instant now, const RxBurst& burst) {
  if (!engine_.plane_counters.has(burst.plane) || burst.segment_size == 0) return;
  PlaneCounters& plane = engine_.plane_counters[burst.plane];
  engine_.placement.stream = burst.stream;
  const DscpConfig& dscp = engine_.config.dscp;
  const bool last_hop = burst.flow.dscp() == dscp.trimmed_lasthop;
  const bool trimmed = (last_hop || burst.flow.dscp() == dscp.trimmed) && !burst.flow.dst.is_multicast();
  IcrcPrefix prefix;
  for (uint32_t offset = 0; offset < burst.bytes;) {
    const uint8_t* data = burst.data + offset;
    const uint32_t n = burst.bytes - offset < burst.segment_size ? burst.bytes - offset : burst.segment_size;
    offset += n;
    prefetch(data + n, std::min(burst.bytes - offset, burst.segment_size));
    ++engine_.counters.rx_packets;
    engine_.counters.rx_bytes += n;
    ++plane.rx_packets;
    plane.rx_bytes += n;
    if (trimmed) {
      handle_trimmed(now, burst, data, n, last_hop);
    } else {
      handle_packet(now, burst, data, n, &prefix);
    }
  }
}

// Trimmed packets have no ICRC; they can only request a retransmission [MRC-CHOICE-Q24].
void RxDispatcher::handle_trimmed(Instant now, const RxBurst& burst, const uint8_t* data, uint32_t bytes,
                                  bool last_hop) {
  wire::Packet p;
  if (wire::decode_trimmed({data, bytes}, &p) != wire::DecodeError::kOk) {
    ++engine_.counters.drop_decode;
    return;
  }
  ++engine_.counters.rx_trimmed;
  Qp* const qp = qps_.find(p.bth.dqp);
  if (qp != nullptr && wire::is_request(p.bth.opcode) && qp->receiving() && is_from(now, qp->peer, burst))
    qp->responder.on_trimmed(now, burst.flow, p, last_hop);
}

inline void RxDispatcher::handle_packet(Instant now, const RxBurst& burst, const uint8_t* data, uint32_t bytes,
                                        IcrcPrefix* prefix) {
  wire::Packet p;
  const wire::DecodeError error = wire::decode({data, bytes}, &p);
  if (error != wire::DecodeError::kOk) {
    engine_.report(now, Qpn(), TraceTrigger::kUndecodable, event::Drop{.reason = error});
    return;
  }
  if (engine_.config.icrc) {
    if (bytes != prefix->bytes) *prefix = {wire::icrc_start(burst.flow, bytes), bytes};
    const uint32_t crc = wire::icrc_update_headers(prefix->state, {data, bytes - wire::kIcrcBytes});
    if (wire::icrc_finish(crc) != wire::icrc_load(data + bytes - wire::kIcrcBytes)) {
      engine_.report(now, Qpn(), TraceTrigger::kIcrc, event::Drop{.psn = p.bth.psn});
      return;
    }
  }
  dispatch(now, burst, p, bytes);
}

// True if the peer could have sent it. Otherwise it is counted [MRC-SEC-9].
bool RxDispatcher::is_from(Instant now, Peer* peer, const RxBurst& burst) {
  if (!peer->owns(burst.flow.src, burst.plane)) {
    ++engine_.counters.drop_source;
    return false;
  }
  if (!peer->accepts_pipe(burst.plane, burst.pipe)) {
    ++engine_.counters.drop_beside_pipe;
    return false;
  }
  if (!peer->sends_from(burst.flow.src, burst.plane, burst.flow.src_port)) {
    discovery_.on_foreign_port(now, peer);
    return false;
  }
  return true;
}

void RxDispatcher::dispatch(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes) {
  using wire::Opcode;
  // What is sent to many must not be answered by many [MRC-UD-10].
  if (burst.flow.dst.is_multicast() && !wire::is_datagram(p.bth.opcode)) {
    ++engine_.counters.drop_multicast;
    return;
  }
  switch (p.bth.opcode) {
    case Opcode::kEndpointRequest:
      return prober_.on_request(now, burst.flow, burst.plane, p, bytes);
    case Opcode::kEndpointResponse:
      return prober_.on_response(now, burst.flow, p);
    case Opcode::kDatagram:
    case Opcode::kDatagramImm:
      return datagrams_.on_packet(now, burst, p, bytes);
    case Opcode::kPlaneRequest:
      return discovery_.on_request(now, burst.flow, burst.plane, p);
    case Opcode::kPlaneResponse:
      return discovery_.on_response(now, burst.flow, p);
    default:
      break;
  }
  Qp* const qp = qps_.find(p.bth.dqp);
  if (qp == nullptr) return dispatch_without_qp(now, burst, p);
  if (qp->peer == nullptr) {  // not set up yet: no answer, the sender retries within milliseconds [MRC-QP-4] [API-QP-7]
    ++engine_.counters.drop_state;
    return;
  }
  if (!is_from(now, qp->peer, burst)) return;
  if (wire::is_request(p.bth.opcode) || p.bth.opcode == Opcode::kProbe) {
    dispatch_to_responder(now, burst, qp, p, bytes);
  } else {
    dispatch_to_requester(now, qp, p);
  }
  if constexpr (kCheckInvariants) qp->check();
}

inline void RxDispatcher::dispatch_to_responder(Instant now, const RxBurst& burst, Qp* qp, const wire::Packet& p,
                                                uint32_t bytes) {
  const wire::Flow& flow = burst.flow;
  const bool probe = p.bth.opcode == wire::Opcode::kProbe;
  if (probe) ++engine_.counters.rx_probes;
  if (qp->state == QpState::kError) return qp->responder.on_packet_in_error(now, flow, p);
  MRC_INVARIANT(qp->receiving());  // it has a peer
  if (probe) {
    if (qp->peer->paths.on_inbound(now, burst.plane, wire::ev_of(flow))) qp->peer->rearm(&engine_.timers);
    engine_.report(now, qp->qpn, TraceTrigger::kNone,
                   event::RxProbe{.probe_id = p.peth.probe_id, .ev = wire::ev_of(flow)});
    qp->responder.on_probe(now, flow, p);
    return;
  }
  if (flow.ecn() == wire::Ecn::kCe) ++engine_.plane_counters[burst.plane].ecn_marks;
  // The paths of answers follow those of the peer's packets, not of other senders'.
  if (qp->responder.on_request(now, flow, p, bytes) && qp->peer->paths.on_inbound(now, burst.plane, wire::ev_of(flow)))
    qp->peer->rearm(&engine_.timers);
}

void RxDispatcher::dispatch_to_requester(Instant now, Qp* qp, const wire::Packet& p) {
  using wire::Opcode;
  if (qp->state != QpState::kRts) {
    ++engine_.counters.drop_state;
    return;
  }
  switch (p.bth.opcode) {
    case Opcode::kSack:
      ++engine_.counters.rx_sacks;
      return qp->requester.on_sack(now, p);
    case Opcode::kNack:
      ++engine_.counters.rx_nacks;
      return qp->requester.on_nack(now, p);
    case Opcode::kAck:
      ++engine_.counters.rx_acks;
      return qp->requester.on_transport_ack(now, p);
    default:
      MRC_INVARIANT(false);  // dispatch() leaves no other
  }
}

// If the QP is destroyed, the peer's last ACK may have been lost: it is retransmitted [MRC-RSP-11].
void RxDispatcher::dispatch_without_qp(Instant now, const RxBurst& burst, const wire::Packet& p) {
  ++engine_.counters.drop_no_qp;
  const bool probe = p.bth.opcode == wire::Opcode::kProbe;
  if (!probe && !wire::is_request(p.bth.opcode)) return;
  Tombstone* const t = tombstones_.find(now, qps_.slot_of(p.bth.dqp), p.bth.dqp);
  if (t == nullptr || !is_from(now, peers_.find(t->peer), burst)) return;
  if (probe || p.bth.psn <= t->last.psn) tombstones_.answer(now, t);
}

}  // namespace mrc::core
