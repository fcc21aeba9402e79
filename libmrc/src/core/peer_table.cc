#include "core/peer_table.h"

#include "invariant.h"

namespace mrc::core {

PeerId PeerTable::intern(const PeerDescription& description) {
  if (const PeerId known = index_.find(description); known != kNoPeer) {
    add_reference(find(known));
    return known;
  }
  if (free_.empty()) {
    if (free_.capacity() == peers_.size()) free_.reserve(2 * peers_.size() + 16);
    engine_.timers.expect(1);
    peers_.emplace_back();
    free_.push_back(static_cast<PeerId>(peers_.size() - 1));
  }
  const PeerId id = free_.back();
  auto peer = std::make_unique<Peer>(id, description, &engine_);
  index_.add(id, peer->interned);
  free_.pop_back();
  add_reference(peer.get());
  peer->paths.set_sink(&engine_.sink, &peer->description);
  peer->paths.set_local_planes(engine_.planes_up);
  peers_[id] = std::move(peer);
  engine_.sink.on_peer_addresses(id);
  return id;
}

bool PeerTable::set_address(Peer* peer, PlaneId plane, const PlaneAddress& address) {
  PlaneAddress& at = peer->description.planes[plane];
  try {
    index_.replace(peer->id, at.addr, address.addr);
  } catch (const std::bad_alloc&) {
    return false;
  }
  at = address;
  return true;
}

void PeerTable::release(PeerId id) {
  Peer* const p = find(id);
  if (p == nullptr) return;
  if (--p->refs.all > 0) {
    if (p->left() && observer_ != nullptr) observer_->on_peer_left(p);
    return;
  }
  engine_.timers.remove(&p->timer);
  if (observer_ != nullptr) observer_->on_peer_gone(p);
  index_.remove(id, p->interned, p->description);
  peers_[id].reset();
  free_.push_back(id);
}

void PeerTable::add_tombstone(PeerId id) {
  Peer* const p = find(id);
  ++p->refs.all;
  ++p->refs.tombstones;
}

void PeerTable::release_tombstone(PeerId id) {
  --find(id)->refs.tombstones;
  release(id);
}

std::vector<PeerId> PeerTable::ids() const {
  std::vector<PeerId> all;
  for_each([&](const Peer* p) {
    if (!p->description.is_group()) all.push_back(p->id);
  });
  return all;
}

void PeerTable::check() const {
  MRC_INVARIANT(index_.descriptions() + free_.size() == peers_.size());
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i] == nullptr) continue;
    MRC_INVARIANT(peers_[i]->id == i && index_.find(peers_[i]->interned) == i);
    peers_[i]->check();
  }
}

}  // namespace mrc::core
