// Connectionless endpoint operations: EV probes (ours for path health, the caller's for tools), port status updates,
// and the answers to both [MRC-EVP-1..5, MRC-PORT-1..2]. Requests name our process slot in vendor_info, because the
// answer goes to a UDP port and several processes may share the address [MRC-EVP-5].
#include <algorithm>

#include "core/endpoint_impl.h"

namespace mrc::core {

namespace {
// A port status update is repeated until it is answered: a peer that missed it would shun a good plane for ever, or
// send into a dead one. The interval doubles up to this many times.
constexpr uint8_t kStatusDoublings = 5;
}  // namespace

bool EndpointImpl::start_op(Instant now, PeerId to, uint16_t ev, uint16_t id, bool port_status, uint32_t mask,
                            Duration timeout, bool internal, uint8_t traffic_class) {
  if (peer(to) == nullptr || ev >= config.evs.size()) return false;
  for (const EndpointOpRecord& op : ops_)
    if (op.id == id) return false;
  EndpointOpRecord op;
  op.id = id;
  op.peer = to;
  op.ev = ev;
  op.plane = config.evs[ev].plane;
  op.dscp = traffic_class != 0 ? static_cast<uint8_t>(traffic_class >> 2) : config.dscp.no_trim;
  op.internal = internal;
  op.port_status = port_status;
  op.mask = mask;
  op.deadline = now + timeout;
  ops_.push_back(op);
  // Our own port status is repeated until it is answered, so it may begin with a packet that found no room.
  if (!send_op(now, &ops_.back()) && !(internal && port_status)) {
    ops_.pop_back();
    return false;
  }
  timers.set(&op_timer_, std::min(op_timer_.deadline, op.deadline));
  return true;
}

bool EndpointImpl::send_op(Instant now, EndpointOpRecord* op) {
  op->sent_at = now;
  wire::Flow flow;
  if (!fill_flow(&flow, *peer(op->peer), op->ev, op->dscp)) return true;  // no such plane there: nobody answers
  wire::Bth bth;
  bth.opcode = wire::Opcode::kEndpointRequest;
  bth.dqp = wire::kEndpointQpn;
  bth.psn = Psn(op->id);
  wire::Erth erth;
  erth.op = op->port_status ? wire::EndpointOp::kPortStatus : wire::EndpointOp::kEvProbe;
  erth.vendor_info = config.slot;
  erth.port_status_mask = op->port_status ? op->mask : 0;
  erth.timestamp.tx_timestamp = op->timestamp = wire::timestamp_of(now);
  uint8_t packet[kHeaderRoom] = {};
  uint32_t length = wire::encode_endpoint_request(packet, bth, erth);
  uint32_t padding = 0;
  if (op->mtu != 0) {  // to the size of the largest packet of that path MTU
    padding = wire::packet_bytes(wire::Opcode::kWriteLastImm, config.timestamps, op->mtu) - length - wire::kIcrcBytes;
  } else if (!peer(op->peer)->description.nic) {
    length += wire::kEndpointPadding;  // or strangers would not answer [MRC-EVP-6]
  }
  if (!queue_one_off(flow, op->ev, packet, length, padding)) return false;
  if (!op->port_status) ++counters.tx_ev_probes;
  return true;
}

// Every process of the host that sent it is a peer of its own. Impossible is what no honest sender could have sent: the
// port whose address it used is up. [MRC-PORT-1] [MRC-CHOICE-Q23]
bool EndpointImpl::on_port_status(Instant now, const wire::Flow& flow, uint32_t mask) {
  bool heard = true;
  for (auto& candidate : peers_) {
    if (!candidate) continue;
    uint32_t own = 0;
    const std::vector<PlaneAddress>& planes = candidate->description.planes;
    for (uint32_t i = 0; i < planes.size() && i < 32; ++i)
      own |= static_cast<uint32_t>(planes[i].addr == flow.src) << i;
    if (own == 0) continue;
    if ((own & mask) == 0) return false;
    if (!candidate->paths.on_port_status(now, mask)) heard = false;
    if (!candidate->left()) probe_paths(now, candidate.get());
  }
  return heard && mask != 0;
}

void EndpointImpl::on_endpoint_request(Instant now, const wire::Flow& flow, uint8_t plane, const wire::Packet& p,
                                       uint32_t bytes) {
  if (p.erth.op != wire::EndpointOp::kPortStatus && p.erth.op != wire::EndpointOp::kEvProbe) {  // [MRC-EVP-2]
    ++counters.drop_decode;
    return;
  }
  if (p.erth.op == wire::EndpointOp::kPortStatus && !on_port_status(now, flow, p.erth.port_status_mask)) {
    ++counters.port_status_refused;
    return;
  }
  // The answer takes the plane that the request came on: it works at least one way, and the prober wants to know about
  // it.
  uint16_t ev = UINT16_MAX;
  const auto n = static_cast<uint32_t>(config.evs.size());
  const uint32_t start = n > 0 ? rng.below(n) : 0;
  for (uint32_t i = 0; i < n && ev == UINT16_MAX; ++i)
    if (config.evs[(start + i) % n].plane == plane) ev = static_cast<uint16_t>((start + i) % n);
  if (ev == UINT16_MAX) return;
  wire::Flow back;
  back.src = config.planes[plane].addr;
  back.dst = flow.src;
  back.src_port = static_cast<uint16_t>(config.evs[ev].value);
  back.dst_port =
      plane < config.slot_ports.size() ? config.slot_ports[plane].of(p.erth.vendor_info) : config.planes[plane].port;
  back.flow_label = back.dst.is_v4() ? 0 : config.evs[ev].value >> 16;
  back.traffic_class = static_cast<uint8_t>(config.dscp.control << 2 | static_cast<uint8_t>(wire::Ecn::kEct0));
  wire::Bth bth;
  bth.opcode = wire::Opcode::kEndpointResponse;
  bth.dqp = wire::kEndpointQpn;
  bth.psn = Psn(p.bth.psn.value() & 0xFFFF);
  wire::Eeth eeth;
  eeth.op = p.erth.op;
  eeth.tx_timestamp = p.erth.timestamp.tx_timestamp;
  uint8_t packet[kHeaderRoom];
  if (!queue_reply(now, back, ev, packet, wire::encode_endpoint_response(packet, bth, eeth), bytes)) return;
  if (p.erth.op == wire::EndpointOp::kEvProbe) ++counters.rx_ev_probes;
}

void EndpointImpl::on_endpoint_response(Instant now, const wire::Flow& flow, const wire::Packet& p) {
  const auto id = static_cast<uint16_t>(p.bth.psn.value());
  auto it = std::find_if(ops_.begin(), ops_.end(), [&](const EndpointOpRecord& op) { return op.id == id; });
  // Only the address that was asked may answer, and the timestamp must be ours: a stranger who forges the address has
  // to guess both the id and the timestamp. Whether a NIC reflects it is learnt from its first answer that does
  // [MRC-EVP-3..4].
  Peer* const from = it == ops_.end() ? nullptr : peer(it->peer);
  const bool reflected = from != nullptr && p.eeth.tx_timestamp == it->timestamp;
  if (from == nullptr || it->plane >= from->description.planes.size() ||
      from->description.planes[it->plane].addr != flow.src ||
      (!reflected && (from->reflects || p.eeth.tx_timestamp != 0))) {
    ++counters.drop_stale;
    return;
  }
  if (reflected && it->timestamp != 0) from->reflects = true;
  const EndpointOpRecord op = *it;
  *it = ops_.back();
  ops_.pop_back();
  if (!op.internal) {
    sink->on_endpoint_response(op.id, op.plane, now - op.sent_at);
    return;
  }
  if (op.port_status || take_size_answer(now, op)) return;
  const bool was_bad = !from->paths.usable(op.ev);
  from->paths.on_probe_answer(now, op.ev, op.sent_at, op.overdue);
  rearm_peer(from);
  // It passes small packets. What retired it may have been that it does not pass full ones.
  if (was_bad && from->paths.usable(op.ev)) suspect_path_mtu(now, from, op.plane, from->path_mtu);
}

// Unpredictable. Callers of the controller API use the lower half. An id that is in use after all is refused by
// start_op().
uint16_t EndpointImpl::new_op_id() {
  const auto used = [&](uint16_t id) {
    return std::any_of(ops_.begin(), ops_.end(), [&](const EndpointOpRecord& op) { return op.id == id; });
  };
  uint16_t id = 0;
  for (int tries = 0; tries < 8; ++tries)
    if (!used(id = static_cast<uint16_t>(0x8000 | rng.below(0x8000)))) break;
  return id;
}

void EndpointImpl::handle_op_timeouts(Instant now) {
  Instant next = Instant::never();
  for (size_t i = 0; i < ops_.size();) {
    EndpointOpRecord& op = ops_[i];
    if (op.deadline > now) {
      next = std::min(next, op.deadline);
      ++i;
      continue;
    }
    Peer* to = peer(op.peer);
    if (op.internal && op.port_status) {
      if (op.resends < kStatusDoublings) ++op.resends;
      uint16_t ev;
      if (to->paths.pick_control(planes_up, &ev)) {
        op.ev = ev;
        op.plane = config.evs[ev].plane;
      }
      op.mask = planes_up & all_planes();
      op.deadline = now + config.ev_probe_interval * (1 << op.resends);
      send_op(now, &op);
      next = std::min(next, op.deadline);
      ++i;
      continue;
    }
    if (op.internal && !op.size_probe && !op.overdue) {
      to->paths.on_probe_lost(now, op.ev, op.sent_at);
      rearm_peer(to);
      op.overdue = true;
      op.deadline = op.sent_at + config.ev_probe_interval * PeerPaths::kMaxPatience;
      continue;  // with its new deadline
    }
    const EndpointOpRecord done = op;
    op = ops_.back();
    ops_.pop_back();
    if (!done.internal) sink->on_endpoint_response(done.id, done.plane, Duration::infinite());
  }
  timers.set(&op_timer_, next);
}

void EndpointImpl::rearm_peer(Peer* p) {
  timers.set(&p->timer, p->left() ? Instant::never() : std::min(p->paths.next_probe_time(), p->mtu.next_time()));
}

// The last QP to it is gone: its paths are asked about no more, until another one comes. [MRC-EVS-8]
void EndpointImpl::leave_peer(Peer* p) {
  drop_ops([&](const EndpointOpRecord& op) { return op.internal && op.peer == p->id; });
  p->paths.forget_probes();
  rearm_peer(p);
}

void EndpointImpl::probe_paths(Instant now, Peer* p) {
  uint16_t ev;
  while (p->paths.take_due_probe(now, &ev)) {
    if (!start_op(now, p->id, ev, new_op_id(), false, 0, p->paths.probe_patience(ev), true))
      p->paths.on_probe_unsent(now, ev);
  }
  search_path_mtu(now, p);
  rearm_peer(p);
}

void EndpointImpl::set_plane_up(Instant now, uint8_t plane, bool up) {
  if (plane >= config.planes.size() || up == (((planes_up >> plane) & 1) != 0)) return;
  planes_up = up ? planes_up | 1u << plane : planes_up & ~(1u << plane);
  trace(now, 0, TraceEvent::kPlane, TraceTrigger::kLocalPort, plane, up);
  sink->on_port_event(plane, up ? AsyncEvent::kPortUp : AsyncEvent::kPortDown);
  for (auto& p : peers_) {
    if (!p) continue;
    p->paths.set_local_planes(planes_up);
    if (p->left()) continue;
    // The newest state replaces an update that is still unanswered.
    drop_ops([&](const EndpointOpRecord& op) { return op.internal && op.port_status && op.peer == p->id; });
    uint16_t ev;
    if (!p->paths.pick_control(planes_up, &ev)) continue;
    start_op(now, p->id, ev, new_op_id(), true, planes_up & all_planes(), config.ev_probe_interval, true);
  }
  wake_senders();
}

void EndpointImpl::wake_senders() {
  for (Qp* qp : qps_)
    if (qp != nullptr && qp->state == QpState::kRts && !qp->requester.idle()) make_ready(qp);
}

}  // namespace mrc::core
