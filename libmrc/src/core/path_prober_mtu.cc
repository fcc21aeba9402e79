// The path MTU towards a peer: searches (PathMtu) are run here, and their verdicts applied. A
// plane that is too narrow for the packets in use is avoided while another one carries them. If none does, QPs
// whose packets do not pass fail with that reason, because their packets are numbered and cannot be split again, and
// new QPs are offered the MTU found [MRC-MTU-1..5].
#include <algorithm>

#include "core/path_prober.h"
#include "core/qp_table.h"

namespace mrc::core {

namespace {
constexpr Duration kFoundMtuHolds = Duration::seconds(600);  // RFC 8899, PMTU_RAISE_TIMER
}

void PathProber::suspect_path_mtu(Instant now, Peer* p, PlaneId plane, uint32_t mtu) {
  if (!engine_.config.planes.has(plane)) return;
  PathMtu& search = p->mtu.search;
  if (search.suspect(now, plane, mtu)) {
    ++engine_.counters.mtu_searches;
  } else if (search.limit(plane) != 0 && search.limit(plane) < mtu) {
    apply_path_mtu(now, p, plane, PathMtu::Verdict::kNarrow);  // suspects the other planes
  } else {
    return;
  }
  search_path_mtu(now, p);
  p->rearm(&engine_.timers);
}

// The share that a lossy plane delivers is that of packets as it is to carry: their size may be what they are lost for,
// and it is suspected once. Not of a NIC, which may answer no padded probe [MRC-CHOICE-Q32]. [MRC-EVS-20] [MRC-MTU-1]
uint32_t PathProber::size_of_measurement(Instant now, Peer* p, PlaneId plane) {
  if (p->description.nic) return 0;
  const uint32_t limit = p->mtu.search.limit(plane);
  if (limit != 0) return std::min(limit, p->mtu.largest);
  if (p->mtu.measured.contains(plane)) return p->mtu.largest;
  if (p->mtu.search.suspect(now, plane, p->mtu.largest)) ++engine_.counters.mtu_searches;
  p->mtu.measured.set(plane, p->mtu.search.searching(plane));  // else there was one in the last second
  return p->mtu.largest;
}

// The driver reports that a packet to that address does not fit the path: the interface or a router reported it.
void PathProber::on_packet_too_long(Instant now, PlaneId plane, const IpAddress& to) {
  ++engine_.counters.tx_too_long;
  peers_.find_at(to, [&](Peer& p) {
    const PerPlane<PlaneAddress>& planes = p.description.planes;
    if (p.answers() && planes.has(plane) && planes[plane].addr == to) suspect_path_mtu(now, &p, plane, p.mtu.largest);
    return false;  // all of them
  });
}

void PathProber::search_path_mtu(Instant now, Peer* p) {
  PlaneId plane;
  for (PathMtu::Verdict v; (v = p->mtu.search.conclude(now, &plane)) != PathMtu::Verdict::kNone;)
    apply_path_mtu(now, p, plane, v);
  while (const std::optional<PathMtu::Probe> probe = p->mtu.search.take_due(now)) {
    std::optional<EvIndex>& ev = p->mtu.probe_ev[probe->plane.value()];
    if (probe->new_round) ev = p->paths.any_ev(probe->plane);
    if (!ev) continue;
    Outstanding o;
    o.op.id = new_id();
    o.op.peer = p->id;
    o.op.ev = *ev;
    o.op.dscp = engine_.config.dscp.no_trim;
    o.op.internal = o.op.of_search = true;
    o.op.size_probe = probe->mtu;
    o.plane = probe->plane;
    o.deadline = now + engine_.config.ev_probe_interval;
    if (!send(now, &o)) continue;
    ops_.push_back(o);
    engine_.timers.set(&timer_, std::min(timer_.deadline, o.deadline));
  }
}

void PathProber::on_size_answer(Instant now, const Outstanding& o) {
  Peer* const p = peers_.find(o.op.peer);
  p->mtu.search.on_answer(o.plane, o.op.size_probe);
  search_path_mtu(now, p);
  p->rearm(&engine_.timers);
}

uint32_t PathProber::peer_path_mtu(const Peer& p) const {
  uint32_t found = 0;
  for (const PlaneId plane : engine_.all_planes()) {
    if (!p.paths.plane_could_carry(plane)) continue;
    const uint32_t limit = p.mtu.search.limit(plane);
    if (limit == 0) return 0;
    found = found == 0 ? limit : std::min(found, limit);
  }
  return found;
}

void PathProber::apply_path_mtu(Instant now, Peer* p, PlaneId plane, PathMtu::Verdict verdict) {
  if (verdict == PathMtu::Verdict::kUnknown) return;
  PathMtu& search = p->mtu.search;
  PlaneSet narrow;
  for (const PlaneId i : engine_.all_planes()) narrow.set(i, search.limit(i) != 0);
  const uint32_t found = peer_path_mtu(*p);
  // With all of them narrow, QPs with smaller packets use them all.
  p->paths.set_narrow_planes(found == 0 ? narrow : PlaneSet());
  if (verdict == PathMtu::Verdict::kNarrow) {
    engine_.report(now, Qpn(), TraceTrigger::kProbeAnswered,
                   event::PathMtu{.plane = plane, .carries = search.limit(plane), .wanted = search.wanted(plane)});
    engine_.sink.on_path_mtu(p->id, plane, search.limit(plane), search.wanted(plane));
  }
  // Planes change together more often than alone.
  for (const PlaneId i : verdict == PathMtu::Verdict::kNarrow ? engine_.all_planes() : PlaneSet())
    if (search.limit(i) == 0 && p->paths.plane_could_carry(i) && search.suspect(now, i, search.wanted(plane)))
      ++engine_.counters.mtu_searches;
  qps_.wake_senders();
  if (found != 0) {
    note_found_mtu(now, found);
  } else if (verdict == PathMtu::Verdict::kPasses) {
    found_mtu_until_ = now;
  }
}

// No plane in use carries more than `found`. Queue pairs whose packets are longer go on until their retries are
// exhausted.
void PathProber::note_found_mtu(Instant now, uint32_t found) {
  if (now >= found_mtu_until_ || found < found_mtu_) found_mtu_ = found;
  found_mtu_until_ = now + kFoundMtuHolds;
}

}  // namespace mrc::core
