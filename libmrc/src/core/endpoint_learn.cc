// A peer whose planes no rule gives is asked for them [MRC-EXT-1..6, spec/wire.md].
//
// The first QP that goes to RTR towards the peer opens the question: one plane request per plane that we have beyond
// the first, sent to the peer's plane 0 (plane 1 in words) and repeated with a doubling pause until every plane is
// answered or the tries are used up. Meanwhile, and for good where the peer knows nothing of this, plane 0 alone
// carries the traffic. An answer names the peer's address, whose packets are heard from then on, and says whether the
// peer hears ours; only then the plane is used. A question from a peer about which we still ask makes us ask again, so
// that the end that came first need not wait for its next try. A later QP opens the question again, so that a peer that
// came back with other addresses, or that missed the first questions, is found. Answering needs no state.
#include <algorithm>

#include "core/endpoint_impl.h"

namespace mrc::core {

namespace {

constexpr uint32_t kMaxPlanes = 32;

// An address to which packets may be sent at all: no peer may point us at a group or at nobody.
bool sendable(const IpAddress& addr) {
  if (addr.is_zero()) return false;
  if (!addr.is_v4()) return addr.bytes[0] != 0xFF;
  return addr.bytes[12] != 0 && addr.bytes[12] < 224;
}

}  // namespace

void EndpointImpl::start_learning(Instant now, Peer* p) {
  if (!p->description.learn || now - p->learning.begun < Question::kFresh) return;
  Learning& l = p->learning;
  l.begin(now, rng.next());
  l.open = 0;
  for (uint32_t plane = 1; plane < p->description.planes.size() && plane < kMaxPlanes; ++plane) l.open |= 1u << plane;
  ask_for_planes(now, p);
}

// False: the question is not asked again.
bool EndpointImpl::count_try(Instant now, Question* question, bool open) {
  question->next = Instant::never();
  if (!open || question->exhausted()) return false;
  question->count_try(now);
  timers.set(&learn_timer_, std::min(learn_timer_.deadline, question->next));
  return true;
}

wire::Plth EndpointImpl::plane_question(const Question& question, uint8_t plane) const {
  wire::Plth ask;
  ask.plane = plane;
  ask.planes = static_cast<uint8_t>(config.planes.size());
  ask.slot = config.slot;
  ask.nonce = question.nonce;
  if (plane < config.planes.size()) ask.addr = config.planes[plane].addr;
  return ask;
}

void EndpointImpl::ask_for_planes(Instant now, Peer* p) {
  Learning& l = p->learning;
  if (!count_try(now, &l, l.open != 0)) return;
  uint16_t ev;
  wire::Flow flow;
  if (!p->paths.pick_control(1u, &ev) || !fill_flow(&flow, *p, ev, config.dscp.no_trim)) return;
  wire::Bth bth;
  bth.dqp = wire::kEndpointQpn;
  for (uint32_t plane = 1; plane < kMaxPlanes; ++plane) {
    if (((l.open >> plane) & 1) == 0) continue;
    const wire::Plth ask = plane_question(l, static_cast<uint8_t>(plane));
    uint8_t packet[kHeaderRoom];
    if (queue_one_off(flow, ev, packet, wire::encode_plane_request(packet, bth, ask))) ++counters.tx_plane_requests;
  }
}

// Answered to whoever asks, in as many bytes as the question has [MRC-EXT-3].
void EndpointImpl::on_plane_request(Instant now, const wire::Flow& flow, uint8_t plane, const wire::Packet& p) {
  if (p.plth.version != wire::Plth::kVersion || p.plth.plane >= kMaxPlanes) {
    ++counters.drop_stale;
    return;
  }
  uint16_t ev = UINT16_MAX;
  for (uint16_t i = 0; i < config.evs.size() && ev == UINT16_MAX; ++i)
    if (config.evs[i].plane == plane) ev = i;
  if (ev == UINT16_MAX) return;
  wire::Flow back;
  back.src = config.planes[plane].addr;
  back.dst = flow.src;
  back.src_port = static_cast<uint16_t>(config.evs[ev].value);
  back.dst_port =
      plane < config.slot_ports.size() ? config.slot_ports[plane].of(p.plth.slot) : config.planes[plane].port;
  back.flow_label = back.dst.is_v4() ? 0 : config.evs[ev].value >> 16;
  back.traffic_class = static_cast<uint8_t>(config.dscp.control << 2 | static_cast<uint8_t>(wire::Ecn::kEct0));
  wire::Bth bth;
  bth.dqp = wire::kEndpointQpn;
  wire::Plth tell;
  tell.plane = p.plth.plane;
  tell.planes = static_cast<uint8_t>(config.planes.size());
  tell.slot = config.slot;
  tell.nonce = p.plth.nonce;
  tell.ready = hears(flow, p.plth);
  if (tell.plane < config.planes.size()) {
    tell.addr = config.planes[tell.plane].addr;
    tell.port = config.planes[tell.plane].port;
    if (tell.plane < config.slot_ports.size()) {
      tell.port = config.slot_ports[tell.plane].standard;
      tell.port_base = config.slot_ports[tell.plane].base;
    }
  }
  wire::Spth ports;
  if (p.plth.ports) ports = own_ports.part(p.plth.plane, p.spth().first);
  uint8_t packet[kControlRoom];
  const uint32_t asked = wire::packet_bytes(p.bth.opcode, false, p.payload_len);
  const uint32_t length = wire::encode_plane_response(packet, bth, tell, p.plth.ports ? &ports : nullptr);
  if (queue_reply(now, back, ev, packet, length, asked))
    ++(p.plth.ports ? counters.rx_port_requests : counters.rx_plane_requests);
  ask_back(now, flow, p.plth);
}

namespace {

// Is `peer` the one who asks? One host may run several processes, told apart by their slots.
bool is_asker(const Peer& peer, const wire::Flow& flow, const wire::Plth& ask) {
  const PeerDescription& d = peer.description;
  return !d.planes.empty() && d.planes[0].addr == flow.src && (!d.learn || d.slot == ask.slot);
}

}  // namespace

// Would packets from the asker's address on that plane be taken for the asker's?
bool EndpointImpl::hears(const wire::Flow& flow, const wire::Plth& ask) const {
  if (ask.addr.is_zero()) return false;
  for (const auto& p : peers_)
    if (p != nullptr && is_asker(*p, flow, ask) && p->owns(ask.addr, ask.plane)) return true;
  return false;
}

// A peer that asks is there, and hears us soon: what we still want to know is asked again, once for each question of
// the peer's, and no sooner than a first repetition would be, whatever arrives [MRC-EXT-7] [MRC-EXT-9].
void EndpointImpl::ask_back(Instant now, const wire::Flow& flow, const wire::Plth& ask) {
  for (auto& p : peers_) {
    if (p == nullptr || (p->learning.open == 0 && !p->port_question.open) || ask.nonce == p->learning.heard ||
        !is_asker(*p, flow, ask))
      continue;
    p->learning.heard = ask.nonce;
    const auto again = [&](Question* question) {
      question->restart(now);
      timers.set(&learn_timer_, std::min(learn_timer_.deadline, question->next));
    };
    if (p->learning.open != 0) again(&p->learning);
    if (p->port_question.open) again(&p->port_question);
  }
}

// Heard only from the address that was asked, with the nonce of the open question, until the plane is settled
// [MRC-EXT-4].
void EndpointImpl::on_plane_response(Instant now, const wire::Flow& flow, uint8_t plane, const wire::Packet& p) {
  const wire::Plth& told = p.plth;
  if (told.ports) {
    if (!on_announced_ports(now, flow, plane, p)) ++counters.drop_stale;
    return;
  }
  for (auto& candidate : peers_) {
    Peer* to = candidate.get();
    if (to == nullptr || to->learning.open == 0 || told.nonce != to->learning.nonce ||
        to->description.planes[0].addr != flow.src)
      continue;
    if (told.version != wire::Plth::kVersion || told.plane >= kMaxPlanes ||
        ((to->learning.open >> told.plane) & 1) == 0 || !learn_plane(to, told))
      break;
    use_plane(now, to, told.plane, told.ready);
    return;
  }
  ++counters.drop_stale;
}

// Takes over one plane of an answer; false when it makes no sense [MRC-EXT-5].
bool EndpointImpl::learn_plane(Peer* to, const wire::Plth& told) {
  if (told.plane >= to->description.planes.size() || told.plane >= config.planes.size()) return false;
  PlaneAddress next;
  if (told.plane < told.planes || !told.addr.is_zero()) {
    const uint8_t slot = to->description.slot;
    const uint32_t port = slot == 0 || told.port_base == 0 ? told.port : uint32_t{told.port_base} + slot;
    if (!sendable(told.addr) || told.addr.is_v4() != config.planes[told.plane].addr.is_v4() || port == 0 ||
        port > UINT16_MAX)
      return false;
    next = {told.addr, static_cast<uint16_t>(port)};
  }
  PlaneAddress& at = to->description.planes[told.plane];
  if (at.addr == next.addr && at.port == next.port) return true;
  at = next;
  ++counters.planes_learnt;
  sink->on_peer_addresses(to->id);
  return true;
}

// After an answer: the plane is settled when the peer lacks it or hears us on it; only then is it used [MRC-EXT-6].
void EndpointImpl::use_plane(Instant now, Peer* to, uint8_t plane, bool ready) {
  Learning& l = to->learning;
  const uint32_t bit = 1u << plane;
  const bool lacking = to->description.planes[plane].addr.is_zero();
  if (lacking || ready) l.open &= ~bit;
  if (l.open == 0) l.next = Instant::never();
  const uint32_t before = l.in_use;
  l.in_use = ready && !lacking ? before | bit : before & ~bit;
  if (l.in_use == before) return;
  to->paths.set_present_planes(l.in_use);
  trace(now, 0, TraceEvent::kPlane, TraceTrigger::kLearnt, plane, to->paths.plane_usable(plane));
  rearm_peer(to);
  wake_senders();
}

void EndpointImpl::handle_learn_timeouts(Instant now) {
  Instant next = Instant::never();
  for (auto& p : peers_) {
    if (!p) continue;
    if (p->learning.next <= now) ask_for_planes(now, p.get());
    if (p->port_question.next <= now) ask_for_ports(now, p.get());
    next = std::min({next, p->learning.next, p->port_question.next});
  }
  timers.set(&learn_timer_, next);
}

}  // namespace mrc::core
