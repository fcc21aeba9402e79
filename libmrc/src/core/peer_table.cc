#include "core/peer_table.h"

#include "base/invariant.h"

namespace mrc::core {

PeerId PeerTable::intern(const PeerDescription& description) {
  size_t free = peers_.size();
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i] == nullptr) {
      free = i;
    } else if (peers_[i]->interned == description) {
      add_reference(peers_[i].get());
      return static_cast<PeerId>(i);
    }
  }
  const auto id = static_cast<PeerId>(free);
  auto peer = std::make_unique<Peer>(id, description, &engine_);
  if (free == peers_.size()) {
    engine_.timers.expect(1);
    peers_.emplace_back();
  }
  add_reference(peer.get());
  peer->paths.tell(&engine_.sink);
  peer->paths.set_local_planes(engine_.planes_up);
  peers_[free] = std::move(peer);
  engine_.sink.on_peer_addresses(id);
  return id;
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
  peers_[id].reset();
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

bool PeerTable::has_address(const IpAddress& addr) const {
  return find_if([&](const Peer& p) { return p.owns(addr, 0_plane); }) != nullptr;
}

std::vector<PeerId> PeerTable::ids() const {
  std::vector<PeerId> all;
  for_each([&](const Peer* p) { all.push_back(p->id); });
  return all;
}

void PeerTable::check() const {
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i] == nullptr) continue;
    MRC_INVARIANT(peers_[i]->id == i);
    peers_[i]->check();
  }
}

}  // namespace mrc::core
