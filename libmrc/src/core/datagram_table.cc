#include "core/datagram_table.h"

#include <cassert>
#include <optional>

#include "core/plane_discovery.h"
#include "invariant.h"

namespace mrc::core {

DatagramTable::DatagramTable(EngineContext* engine, PeerTable* peers, PlaneDiscovery* discovery)
    : engine_(*engine), peers_(*peers), discovery_(*discovery), groups_(engine->config.max_groups) {
  for (const EndpointConfig::GidOfAddress& known : engine->config.gids_of_addresses)
    configured_gids_.emplace(known.addr, known.gid);
}

DatagramQp* DatagramTable::create(const DatagramQpInit& init) {
  assert(init.sink != nullptr);
  if (qps_.size() >= engine_.config.max_qps || qps_.count(init.qpn) != 0) return nullptr;
  Entry entry;
  entry.qp = std::make_unique<DatagramQp>(&engine_, &peers_, init);
  DatagramQp* const made = entry.qp.get();
  qps_.emplace(init.qpn, std::move(entry));
  return made;
}

void DatagramTable::destroy(DatagramQp* qp) {
  remove_ready(qp);
  if (sent_ == qp) sent_ = nullptr;
  groups_.remove(qp);
  qps_.erase(qp->qpn());
}

bool DatagramTable::modify(Instant now, DatagramQp* qp, QpState to, const DatagramAttr& attr) {
  if (!is_transition(qp->state(), to)) return false;
  qp->enter(now, to, attr);
  if (to != QpState::kRts) remove_ready(qp);
  return true;
}

PostResult DatagramTable::post_send(DatagramQp* qp, const DatagramWr& wr) {
  const PostResult posted = qp->post_send(wr);
  if (posted != PostResult::kOk) return posted;
  if (qp->state() == QpState::kError) {
    qp->flush_sends();
  } else {
    make_ready(qp);
  }
  return posted;
}

PostResult DatagramTable::post_recv(DatagramQp* qp, uint64_t wr_id, const Sge* sges, uint32_t num_sge) {
  if (qp->state() == QpState::kReset) return PostResult::kBadState;
  return qp->post_recv(wr_id, sges, num_sge);
}

void DatagramTable::make_ready(DatagramQp* qp) {
  Entry& entry = entry_of(qp);
  if (entry.ready) return;
  entry.ready = true;
  entry.next = nullptr;
  (last_ready_ != nullptr ? entry_of(last_ready_).next : first_ready_) = qp;
  last_ready_ = qp;
}

DatagramQp* DatagramTable::take_ready() {
  DatagramQp* const qp = first_ready_;
  if (qp == nullptr) return nullptr;
  Entry& entry = entry_of(qp);
  first_ready_ = entry.next;
  if (first_ready_ == nullptr) last_ready_ = nullptr;
  entry.ready = false;
  entry.next = nullptr;
  return qp;
}

void DatagramTable::remove_ready(DatagramQp* qp) {
  if (!entry_of(qp).ready) return;
  DatagramQp* const first = take_ready();
  if (first == qp) return;
  make_ready(first);
  while (first_ready_ != first) {
    DatagramQp* const next = take_ready();
    if (next != qp) make_ready(next);
  }
}

// Its planes are probed while it is used, and queried if they are not known.
void DatagramTable::use_peer(Instant now, Peer* peer) {
  discovery_.on_datagram(now, peer);
  if (peer->paths.start_checks(now)) peer->rearm(&engine_.timers);
}

bool DatagramTable::poll(Instant now, TxBurst* out, PlaneSet planes_with_room) {
  // A QP whose path is full must not block the others: it moves to the back, and one lap is enough.
  DatagramQp* first_stuck = nullptr;
  while (first_ready_ != nullptr && first_ready_ != first_stuck) {
    DatagramQp* const qp = take_ready();
    if (!qp->has_unsent()) continue;
    Peer* const peer = qp->next_peer();
    if (peer->answers()) use_peer(now, peer);
    const std::optional<EvIndex> ev = peer->paths.pick_datagram(planes_with_room);
    if (!ev) {
      if (first_stuck == nullptr) first_stuck = qp;
      make_ready(qp);
      continue;
    }
    const bool built = qp->build(now, peer, *ev, out);
    if (qp->has_unsent()) make_ready(qp);
    if (!built) continue;
    sent_ = qp;
    return true;
  }
  return false;
}

void DatagramTable::complete_sent() {
  if (sent_ == nullptr) return;
  DatagramQp* const qp = sent_;
  sent_ = nullptr;
  qp->complete_sent();
}

// The GID by which the sender can be reached: of the configuration, else the address on plane 1 of a known peer, else
// the address itself.
IpAddress DatagramTable::source_gid(const RxBurst& burst) const {
  const IpAddress& src = burst.flow.src;
  if (const auto found = configured_gids_.find(src); found != configured_gids_.end()) return found->second;
  if (engine_.config.gid_rule)
    if (const std::optional<IpAddress> gid = engine_.config.gid_rule(src, burst.plane)) return *gid;
  const Peer* const peer = peers_.find_at(src, [](const Peer&) { return true; });
  return peer != nullptr && !peer->description.planes[0].addr.is_zero() ? peer->description.planes[0].addr : src;
}

void DatagramTable::on_packet(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes) {
  if (burst.flow.dst.is_multicast()) return on_multicast(now, burst, p, bytes);
  const auto found = qps_.find(p.bth.dqp);
  if (found == qps_.end()) {
    ++engine_.counters.drop_no_qp;
    return;
  }
  DatagramQp* const qp = found->second.qp.get();
  if (!qp->accepts(p)) return;
  const EndpointConfig& c = engine_.config;
  qp->receive(now, burst, p, bytes, source_gid(burst), c.gid.is_zero() ? c.planes[0].addr : c.gid);
}

// A copy for each member; one that does not accept it does not affect the others [MRC-UD-10].
void DatagramTable::on_multicast(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes) {
  const IpAddress source = source_gid(burst);
  const auto deliver = [&](DatagramQp* qp, const IpAddress& gid) {
    if (qp->accepts(p)) qp->receive(now, burst, p, bytes, source, gid);
  };
  if (p.bth.dqp != kMulticastQpn || !groups_.for_each_member(burst.flow.dst, deliver))
    ++engine_.counters.drop_multicast;
}

void DatagramTable::check() const {
  if constexpr (!kCheckInvariants) return;
  for (const auto& [qpn, entry] : qps_) {
    MRC_INVARIANT(entry.qp->qpn() == qpn);
    MRC_INVARIANT(entry.ready || !entry.qp->has_unsent());
    entry.qp->check();
  }
  groups_.check();
}

}  // namespace mrc::core
