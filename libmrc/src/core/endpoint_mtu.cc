// The size of packets that the paths to a peer carry: searches (PathMtu) are run here, and their verdicts applied. A
// plane that is too narrow for the packets in use is left as long as another one carries them. Where none does, QPs
// whose packets do not pass fail with that reason, as their packets are numbered and cannot be cut anew, and new QPs
// are offered the MTU that was found [MRC-MTU-1..5].
#include <algorithm>

#include "core/endpoint_impl.h"

namespace mrc::core {

namespace {
constexpr Duration kFoundMtuHolds = Duration::seconds(600);  // RFC 8899, PMTU_RAISE_TIMER
}

void EndpointImpl::suspect_path_mtu(Instant now, Peer* p, uint8_t plane, uint32_t mtu) {
  if (plane >= config.planes.size() || plane >= 32) return;
  if (p->mtu.suspect(now, plane, mtu)) {
    ++counters.mtu_searches;
    search_path_mtu(now, p);
    rearm_peer(p);
  } else if (p->mtu.limit(plane) != 0 && p->mtu.limit(plane) < mtu) {
    apply_path_mtu(now, p, plane, PathMtu::Verdict::kNarrow);
  }
}

// The driver says that a packet to that address does not fit the path: an interface or a router nearby is sure of it.
void EndpointImpl::on_packet_too_long(Instant now, uint8_t plane, const IpAddress& to) {
  ++counters.tx_too_long;
  for (auto& p : peers_)
    if (p != nullptr && !p->left() && plane < p->description.planes.size() && p->description.planes[plane].addr == to)
      suspect_path_mtu(now, p.get(), plane, p->path_mtu);
}

void EndpointImpl::search_path_mtu(Instant now, Peer* p) {
  uint8_t plane;
  for (PathMtu::Verdict v; (v = p->mtu.conclude(now, &plane)) != PathMtu::Verdict::kNone;)
    apply_path_mtu(now, p, plane, v);
  PathMtu::Probe probe;
  while (p->mtu.take_due(now, &probe)) {
    uint16_t& ev = p->size_probe_ev[probe.plane];
    if (probe.new_round) ev = p->paths.any_ev(probe.plane);
    if (ev == UINT16_MAX) continue;
    EndpointOpRecord op;
    op.id = new_op_id();
    op.peer = p->id;
    op.ev = ev;
    op.plane = probe.plane;
    op.dscp = config.dscp.no_trim;
    op.internal = op.size_probe = true;
    op.mtu = probe.mtu;
    op.deadline = now + config.ev_probe_interval;
    if (!send_op(now, &op)) continue;
    ops_.push_back(op);
    timers.set(&op_timer_, std::min(op_timer_.deadline, op.deadline));
  }
}

bool EndpointImpl::take_size_answer(Instant now, const EndpointOpRecord& op) {
  if (!op.size_probe) return false;
  Peer* const p = peer(op.peer);
  p->mtu.on_answer(op.plane, op.mtu);
  search_path_mtu(now, p);
  rearm_peer(p);
  return true;
}

uint32_t EndpointImpl::peer_path_mtu(const Peer& p) const {
  uint32_t found = 0;
  for (uint8_t plane = 0; plane < config.planes.size() && plane < 32; ++plane) {
    if (!p.paths.plane_could_carry(plane)) continue;
    const uint32_t limit = p.mtu.limit(plane);
    if (limit == 0) return 0;
    found = found == 0 ? limit : std::min(found, limit);
  }
  return found;
}

void EndpointImpl::apply_path_mtu(Instant now, Peer* p, uint8_t plane, PathMtu::Verdict verdict) {
  if (verdict == PathMtu::Verdict::kUnknown) return;
  uint32_t narrow = 0;
  for (uint8_t i = 0; i < config.planes.size() && i < 32; ++i)
    narrow |= static_cast<uint32_t>(p->mtu.limit(i) != 0) << i;
  const uint32_t found = peer_path_mtu(*p);
  // With all of them narrow, QPs with smaller packets use them all.
  p->paths.set_narrow_planes(found == 0 ? narrow : 0);
  if (verdict == PathMtu::Verdict::kNarrow) {
    trace(now, 0, TraceEvent::kPathMtu, TraceTrigger::kProbeAnswered, plane, p->mtu.limit(plane), p->mtu.wanted(plane));
    sink->on_path_mtu(p->id, plane, p->mtu.limit(plane), p->mtu.wanted(plane));
  }
  // Planes change together more often than alone.
  for (uint8_t i = 0; i < config.planes.size() && i < 32 && verdict == PathMtu::Verdict::kNarrow; ++i)
    if (p->mtu.limit(i) == 0 && p->paths.plane_could_carry(i) && p->mtu.suspect(now, i, p->mtu.wanted(plane)))
      ++counters.mtu_searches;
  wake_senders();
  if (found == 0) {
    if (verdict == PathMtu::Verdict::kPasses) found_mtu_until = now;
    return;
  }
  if (now >= found_mtu_until || found < found_mtu) found_mtu = found;
  found_mtu_until = now + kFoundMtuHolds;
  for (Qp* qp : qps_)
    if (qp != nullptr && qp->peer == p && qp->state == QpState::kRts && qp->requester.stuck_above(found)) {
      ++counters.mtu_failures;
      enter_error(now, qp, WcStatus::kPathMtu, AsyncEvent::kQpFatal);
    }
}

}  // namespace mrc::core
