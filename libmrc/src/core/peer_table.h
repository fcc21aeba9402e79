// PeerTable: the peers of one endpoint, counted by reference. The same description gives the same peer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ip.h"
#include "core/engine_context.h"
#include "core/peer.h"

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
  void add_reference(Peer* peer) { ++peer->refs.all; }
  void release(PeerId id);
  // A tombstone's reference, which does not keep the peer in use.
  void add_tombstone(PeerId id);
  void release_tombstone(PeerId id);

  Peer* find(PeerId id) const { return id < peers_.size() ? peers_[id].get() : nullptr; }
  bool has_address(const IpAddress& addr) const;
  std::vector<PeerId> ids() const;
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const std::unique_ptr<Peer>& p : peers_)
      if (p != nullptr) visit(p.get());
  }
  // The first peer for which `holds` is true; null: none.
  template <typename Holds>
  Peer* find_if(const Holds& holds) const {
    for (const std::unique_ptr<Peer>& p : peers_)
      if (p != nullptr && holds(*p)) return p.get();
    return nullptr;
  }
  size_t count() const { return peers_.size(); }  // places, used or not
  void check() const;

 private:
  EngineContext& engine_;
  PeerObserver* observer_ = nullptr;
  std::vector<std::unique_ptr<Peer>> peers_;  // by id
};

}  // namespace mrc::core
