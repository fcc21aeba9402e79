#include "core/path_prober.h"

#include <algorithm>

#include "core/flows.h"
#include "core/probe_schedule.h"
#include "core/qp_table.h"
#include "invariant.h"

namespace mrc::core {

namespace {
// A port status update is repeated until it is answered: a peer that missed it would avoid a good plane for ever, or
// send into a failed one. The interval doubles up to this many times.
constexpr uint8_t kStatusDoublings = 5;
constexpr size_t kMaxFirstProbes = 128;  // while so many requests are outstanding, no first probes are added
}  // namespace

PathProber::PathProber(EngineContext* engine, PeerTable* peers, QpTable* qps, ControlQueue* control)
    : engine_(*engine), peers_(*peers), qps_(*qps), control_(*control) {
  engine_.timers.expect(1);
  ops_.reserve(256);
}

bool PathProber::start(Instant now, const EndpointRequest& op, Duration timeout) {
  if (peers_.find(op.peer) == nullptr || !engine_.config.evs.has(op.ev)) return false;
  for (const Outstanding& o : ops_)
    if (o.op.id == op.id) return false;
  Outstanding o;
  o.op = op;
  o.plane = engine_.config.evs[op.ev].plane;
  o.deadline = now + timeout;
  ops_.push_back(o);
  // Our own port status is repeated until it is answered, so it may begin with a packet that found no room.
  if (!send(now, &ops_.back()) && !(op.internal && op.port_status)) {
    ops_.pop_back();
    return false;
  }
  engine_.timers.set(&timer_, std::min(timer_.deadline, o.deadline));
  return true;
}

bool PathProber::send(Instant now, Outstanding* o) {
  o->sent_at = now;
  const Peer& to = *peers_.find(o->op.peer);
  const std::optional<wire::Flow> flow = make_flow(engine_.config, to.description, o->op.ev, o->op.dscp);
  if (!flow) return true;  // no such plane: no answer
  wire::Bth bth;
  bth.opcode = wire::Opcode::kEndpointRequest;
  bth.dqp = wire::kEndpointQpn;
  bth.psn = Psn(o->op.id);
  wire::Erth erth;
  erth.op = o->op.port_status ? wire::EndpointOp::kPortStatus : wire::EndpointOp::kEvProbe;
  erth.vendor_info = engine_.config.slot;
  erth.port_status_mask = o->op.port_status ? o->op.planes_up.mask() : 0;
  erth.timestamp.tx_timestamp = o->timestamp = wire::timestamp_of(now);
  constexpr uint32_t kLength = wire::packet_bytes(wire::Opcode::kEndpointRequest, false, 0);
  uint32_t more = 0;     // zeros that are part of the queued packet
  uint32_t padding = 0;  // and those added when it is sent
  if (o->op.size_probe != 0) {
    padding = wire::packet_bytes(wire::Opcode::kWriteLastImm, engine_.config.timestamps, o->op.size_probe) - kLength;
  } else if (!to.description.nic) {
    more = wire::kEndpointPadding;  // or unknown endpoints would not answer [MRC-EVP-6]
  }
  const auto encode = [&](std::span<uint8_t> out) {
    const uint32_t length = wire::encode_endpoint_request(out, bth, erth);
    std::fill_n(out.begin() + length, more, uint8_t{0});
    return length + more;
  };
  if (!control_.push(*flow, o->op.ev, encode, padding)) return false;
  if (!o->op.port_status) ++engine_.counters.tx_ev_probes;
  return true;
}

// Every process of the sending host is a peer of its own. A mask is invalid if no honest sender could have sent it: the
// port whose address it used is up. [MRC-PORT-1] [MRC-CHOICE-Q23]
bool PathProber::on_port_status(Instant now, const wire::Flow& flow, PlaneSet up) {
  bool accepted = true;
  // The first peer that the update contradicts ends the round.
  const Peer* const contradicted = peers_.find_at(flow.src, [&](Peer& p) {
    PlaneSet own;
    const PerPlane<PlaneAddress>& planes = p.description.planes;
    for (const PlaneId plane : planes.ids()) own.set(plane, planes[plane].addr == flow.src);
    if (!own.intersects(up)) return true;
    if (!p.paths.on_port_status(now, up)) accepted = false;
    if (!p.left()) probe_paths(now, &p);
    return false;
  });
  return contradicted == nullptr && accepted && !up.empty();
}

// An EV of that plane, drawn anew each time.
std::optional<EvIndex> PathProber::draw_ev_of_plane(PlaneId plane) {
  const auto n = static_cast<uint32_t>(engine_.config.evs.size());
  const uint32_t start = n > 0 ? engine_.rng.below(n) : 0;
  for (uint32_t i = 0; i < n; ++i)
    if (engine_.config.evs[(start + i) % n].plane == plane) return ev_at((start + i) % n);
  return std::nullopt;
}

// Where EVs name their links the answer crosses those that the request has crossed, so that one probe tests one link:
// over any other, a dead one would count against those that work. [MRC-EVS-15]
std::optional<EvIndex> PathProber::answer_ev(PlaneId plane, uint32_t asked) {
  if (engine_.evs.links.count() != 0)
    for (const EvIndex ev : engine_.evs.names.indices_of(asked))
      if (engine_.config.evs[ev].plane == plane) return ev;
  return draw_ev_of_plane(plane);
}

void PathProber::on_request(Instant now, const wire::Flow& flow, PlaneId plane, const wire::Packet& p, uint32_t bytes) {
  if (p.erth.op != wire::EndpointOp::kPortStatus && p.erth.op != wire::EndpointOp::kEvProbe) {  // [MRC-EVP-2]
    ++engine_.counters.drop_decode;
    return;
  }
  if (p.erth.op == wire::EndpointOp::kPortStatus &&
      !on_port_status(now, flow, PlaneSet::from_mask(p.erth.port_status_mask))) {
    ++engine_.counters.port_status_refused;
    return;
  }
  // The answer takes the plane of the request: it works at least one way, and it is the one that the prober tests.
  const std::optional<EvIndex> ev = answer_ev(plane, wire::ev_of(flow));
  if (!ev) return;
  const wire::Flow back = make_reply_flow(engine_.config, flow, plane, p.erth.vendor_info, *ev);
  wire::Bth bth;
  bth.opcode = wire::Opcode::kEndpointResponse;
  bth.dqp = wire::kEndpointQpn;
  bth.psn = Psn(p.bth.psn.value() & 0xFFFF);
  wire::Eeth eeth;
  eeth.op = p.erth.op;
  eeth.tx_timestamp = p.erth.timestamp.tx_timestamp;
  if (!control_.push_reply(now, back, *ev, peers_.source_of(flow, plane), bytes,
                           [&](std::span<uint8_t> out) { return wire::encode_endpoint_response(out, bth, eeth); }))
    return;
  if (p.erth.op == wire::EndpointOp::kEvProbe) ++engine_.counters.rx_ev_probes;
}

void PathProber::on_response(Instant now, const wire::Flow& flow, const wire::Packet& p) {
  const auto id = static_cast<uint16_t>(p.bth.psn.value());
  const auto it = std::find_if(ops_.begin(), ops_.end(), [&](const Outstanding& o) { return o.op.id == id; });
  // Only the probed address may answer, and the timestamp must be ours: an attacker that forges the address has
  // to guess both the id and the timestamp. A NIC's reflection of it is known from its first answer with one
  // [MRC-EVP-3..4].
  Peer* const from = it == ops_.end() ? nullptr : peers_.find(it->op.peer);
  const bool reflected = from != nullptr && p.eeth.tx_timestamp == it->timestamp;
  if (from == nullptr || !from->description.planes.has(it->plane) ||
      from->description.planes[it->plane].addr != flow.src ||
      (!reflected && (from->origin.reflects || p.eeth.tx_timestamp != 0))) {
    ++engine_.counters.drop_stale;
    return;
  }
  if (reflected && it->timestamp != 0) from->origin.reflects = true;
  const Outstanding o = *it;
  *it = ops_.back();
  ops_.pop_back();
  if (!o.op.internal) {
    engine_.sink.on_endpoint_response(o.op.id, o.plane, now - o.sent_at);
    return;
  }
  if (o.op.port_status) return;
  if (o.op.of_search) return on_size_answer(now, o);
  const bool was_bad = !from->paths.usable(o.op.ev);
  from->paths.on_probe_answer(now, o.op.ev, o.sent_at, o.overdue);
  from->rearm(&engine_.timers);
  // It passes small packets. It may have been retired because it does not pass full ones.
  if (was_bad && o.op.size_probe == 0 && from->paths.usable(o.op.ev))
    suspect_path_mtu(now, from, o.plane, from->mtu.largest);
}

// Unpredictable. Callers of the controller API use the lower half. An id that is in use is refused by
// start().
uint16_t PathProber::new_id() {
  const auto used = [&](uint16_t id) {
    return std::any_of(ops_.begin(), ops_.end(), [&](const Outstanding& o) { return o.op.id == id; });
  };
  uint16_t id = 0;
  for (int tries = 0; tries < 8; ++tries)
    if (!used(id = static_cast<uint16_t>(0x8000 | engine_.rng.below(0x8000)))) break;
  return id;
}

void PathProber::on_timer(Instant now) {
  Instant next = Instant::never();
  for (size_t i = 0; i < ops_.size();) {
    Outstanding& o = ops_[i];
    if (o.deadline > now) {
      next = std::min(next, o.deadline);
      ++i;
      continue;
    }
    if (o.op.internal && o.op.port_status) {
      resend_status(now, &o);
      next = std::min(next, o.deadline);
      ++i;
      continue;
    }
    if (o.op.internal && !o.op.of_search && !o.overdue) {
      Peer* const to = peers_.find(o.op.peer);
      const Instant expires = std::max(engine_.caught_up(), to->paths.earliest_probe_expiry(o.op.ev, o.sent_at));
      if (now < expires) {
        o.deadline = expires;
        continue;  // with its new deadline
      }
      to->paths.on_probe_lost(now, o.op.ev, o.sent_at);
      to->rearm(&engine_.timers);
      o.overdue = true;
      o.deadline = o.sent_at + engine_.config.ev_probe_interval * ProbeSchedule::kMaxTimeoutIntervals;
      continue;  // with its new deadline
    }
    const Outstanding done = o;
    o = ops_.back();
    ops_.pop_back();
    if (!done.op.internal) engine_.sink.on_endpoint_response(done.op.id, done.plane, Duration::infinite());
  }
  engine_.timers.set(&timer_, next);
}

// With the state of the ports as it is now, by another EV if there is one.
void PathProber::resend_status(Instant now, Outstanding* o) {
  if (o->resends < kStatusDoublings) ++o->resends;
  if (const std::optional<EvIndex> ev = peers_.find(o->op.peer)->paths.pick_control(engine_.planes_up)) {
    o->op.ev = *ev;
    o->plane = engine_.config.evs[*ev].plane;
  }
  o->op.planes_up = engine_.planes_up & engine_.all_planes();
  o->deadline = now + engine_.config.ev_probe_interval * (1 << o->resends);
  (void)send(now, o);
}

// The last QP to it is destroyed: its paths are not probed any more, until another one is created [MRC-EVS-8].
void PathProber::on_peer_left(Peer* p) {
  drop([&](const Outstanding& o) { return o.op.internal && o.op.peer == p->id; });
  p->paths.forget_probes();
  p->rearm(&engine_.timers);
}

void PathProber::on_peer_gone(Peer* p) {
  drop([&](const Outstanding& o) { return o.op.peer == p->id; });
}

void PathProber::probe_paths(Instant now, Peer* p) {
  p->mtu.measured = p->mtu.measured & p->paths.lossy_planes();
  if (ops_.size() >= kMaxFirstProbes) p->paths.postpone_first_probes(now);
  while (const std::optional<EvIndex> ev = p->paths.take_due_probe(now)) {
    EndpointRequest op;
    op.peer = p->id;
    op.ev = *ev;
    op.id = new_id();
    op.dscp = engine_.config.dscp.no_trim;
    op.internal = true;
    if (p->paths.measures_lossy(*ev)) op.size_probe = size_of_measurement(now, p, p->paths.plane_of(*ev));
    if (!start(now, op, p->paths.probe_timeout(*ev))) p->paths.on_probe_unsent(now, *ev);
  }
  search_path_mtu(now, p);
  p->rearm(&engine_.timers);
}

void PathProber::set_plane_up(Instant now, PlaneId plane, bool up) {
  if (!engine_.config.planes.has(plane) || up == engine_.plane_up(plane)) return;
  engine_.planes_up.set(plane, up);
  engine_.report(now, Qpn(), TraceTrigger::kLocalPort, event::Plane{.plane = plane, .up = up});
  engine_.sink.on_port_event(plane, up ? AsyncEvent::kPortUp : AsyncEvent::kPortDown);
  peers_.for_each([&](Peer* p) {
    p->paths.set_local_planes(engine_.planes_up);
    if (!p->answers()) return;
    // The newest state replaces an update that is still unanswered.
    drop([&](const Outstanding& o) { return o.op.internal && o.op.port_status && o.op.peer == p->id; });
    const std::optional<EvIndex> ev = p->paths.pick_control(engine_.planes_up);
    if (!ev) return;
    EndpointRequest op;
    op.peer = p->id;
    op.ev = *ev;
    op.id = new_id();
    op.dscp = engine_.config.dscp.no_trim;
    op.internal = op.port_status = true;
    op.planes_up = engine_.planes_up & engine_.all_planes();
    start(now, op, engine_.config.ev_probe_interval);
  });
  qps_.wake_senders();
}

void PathProber::check() const {
  for (const Outstanding& o : ops_) {
    MRC_INVARIANT(peers_.find(o.op.peer) != nullptr);
    MRC_INVARIANT(engine_.config.evs.has(o.op.ev));
    MRC_INVARIANT(timer_.deadline <= o.deadline);
  }
}

}  // namespace mrc::core
