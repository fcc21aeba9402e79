// PeerIndex: finds the peers of one endpoint by the description that the application gave, and by each of the addresses
// that they have now. Packets of unknown senders are looked up here, so the cost must not grow with the number of
// peers. Its size is bounded by them: an address that a peer reports replaces the one before.
#pragma once

#include <absl/hash/hash.h>

#include <span>
#include <unordered_map>
#include <vector>

#include "base/ip.h"
#include "core/types.h"

namespace mrc::core {

class PeerIndex {
 public:
  // `description` outlives the entry. Throws std::bad_alloc, and changes nothing then.
  void add(PeerId id, const PeerDescription& description);
  // `given`: as added; `now`: the addresses as of the last replace().
  void remove(PeerId id, const PeerDescription& given, const PeerDescription& now);
  // One plane of the peer has another address. Throws std::bad_alloc, and changes nothing then.
  void replace(PeerId id, const IpAddress& from, const IpAddress& to);

  // kNoPeer: none.
  PeerId find(const PeerDescription& given) const;
  // In ascending order; a peer is repeated if several of its planes have the address. Valid until the next change.
  std::span<const PeerId> at(const IpAddress& addr) const;
  size_t descriptions() const { return by_description_.size(); }
  size_t addresses() const { return by_address_.size(); }

 private:
  struct HashOfDescription {
    size_t operator()(const PeerDescription* d) const { return absl::HashOf(*d); }
  };
  struct SameDescription {
    bool operator()(const PeerDescription* a, const PeerDescription* b) const { return *a == *b; }
  };

  void add_address(PeerId id, const IpAddress& addr);
  void remove_address(PeerId id, const IpAddress& addr);

  // Looked up only: their order has no effect. Not absl::flat_hash_map, see datapath/local/outbound.h.
  std::unordered_map<const PeerDescription*, PeerId, HashOfDescription, SameDescription> by_description_;
  std::unordered_map<IpAddress, std::vector<PeerId>, absl::Hash<IpAddress>> by_address_;
};

}  // namespace mrc::core
