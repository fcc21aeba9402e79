// PeerTable: the peers of one endpoint, counted by reference. The same description gives the same peer. What packets
// look up is found by an index, at a cost that does not depend on the number of peers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ip.h"
#include "core/engine_context.h"
#include "core/peer.h"
#include "core/peer_index.h"
#include "core/reply_limiter.h"
#include "wire/flow.h"

namespace mrc::core {

// Called by PeerTable when the use of a peer ends. Must not call the table.
class PeerObserver {
 public:
  // The last QP and the application's last reference are released, tombstones are left: only answers are sent there.
  virtual void on_peer_left(Peer* peer) = 0;
  // The last reference of any kind is released; the peer is destroyed after this call.
  virtual void on_peer_gone(Peer* peer) = 0;

 protected:
  ~PeerObserver() = default;
};

class PeerTable {
 public:
  explicit PeerTable(EngineContext* engine) : engine_(*engine) {}
  void set_observer(PeerObserver* observer) { observer_ = observer; }

  // Takes a reference. Throws std::bad_alloc, and changes nothing then.
  PeerId intern(const PeerDescription& description);
  void add_reference(Peer* peer) {
    if (peer->left()) peer->forget_process();
    ++peer->refs.all;
  }
  void release(PeerId id);
  // A tombstone's reference, which does not keep the peer in use.
  void add_tombstone(PeerId id);
  void release_tombstone(PeerId id);

  Peer* find(PeerId id) const { return id < peers_.size() ? peers_[id].get() : nullptr; }
  // The peer itself reports this address of a plane. False: no memory, nothing is changed.
  [[nodiscard]] bool set_address(Peer* peer, PlaneId plane, const PlaneAddress& address);

  // True if it is the address of any peer, on any plane.
  bool has_address(const IpAddress& addr) const { return !index_.at(addr).empty(); }
  // True if it is that or this device's own: another engine or process of this host, whose peers are not known here. An
  // answer to it leaves no other host a victim.
  bool knows_address(const IpAddress& addr) const {
    const PerPlane<PlaneAddress>& own = engine_.config.planes;
    return has_address(addr) ||
           std::any_of(own.begin(), own.end(), [&](const PlaneAddress& plane) { return plane.addr == addr; });
  }
  // The source of a request that came over that plane.
  RequestSource source_of(const wire::Flow& flow, PlaneId plane) const {
    RequestSource source{flow.src, knows_address(flow.src)};
    const auto announced = [&](const Peer& p) {
      return p.origin.source_ports.announced() && p.sends_from(flow.src, plane, flow.src_port);
    };
    if (const Peer* const p = source.known ? find_at(flow.src, announced) : nullptr; p != nullptr) source.peer = p->id;
    return source;
  }
  std::vector<PeerId> ids() const;  // of hosts; multicast groups are none
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const std::unique_ptr<Peer>& p : peers_)
      if (p != nullptr) visit(p.get());
  }
  // The first peer with that address, on any plane, for which `holds` is true; null: none. `holds` does not change
  // addresses.
  template <typename Holds>
  Peer* find_at(const IpAddress& addr, const Holds& holds) const {
    PeerId last = kNoPeer;
    for (const PeerId id : index_.at(addr)) {
      if (id == last) continue;  // the same address on several planes
      last = id;
      if (Peer* const p = find(id); holds(*p)) return p;
    }
    return nullptr;
  }
  size_t count() const { return peers_.size(); }  // places, used or not
  void check() const;

 private:
  EngineContext& engine_;
  PeerObserver* observer_ = nullptr;
  std::vector<std::unique_ptr<Peer>> peers_;  // by id
  std::vector<PeerId> free_;                  // unused ids; with room for all, so that release() needs no memory
  PeerIndex index_;
};

}  // namespace mrc::core
