#include "core/peer_index.h"

#include <algorithm>

namespace mrc::core {

void PeerIndex::add_address(PeerId id, const IpAddress& addr) {
  if (addr.is_zero()) return;  // the peer lacks the plane
  const auto [entry, made] = by_address_.try_emplace(addr);
  std::vector<PeerId>& ids = entry->second;
  try {
    ids.insert(std::upper_bound(ids.begin(), ids.end(), id), id);
  } catch (const std::bad_alloc&) {
    if (made) by_address_.erase(entry);
    throw;
  }
}

void PeerIndex::remove_address(PeerId id, const IpAddress& addr) {
  const auto entry = by_address_.find(addr);
  if (entry == by_address_.end()) return;
  std::vector<PeerId>& ids = entry->second;
  const auto at = std::lower_bound(ids.begin(), ids.end(), id);
  if (at != ids.end() && *at == id) ids.erase(at);
  if (ids.empty()) by_address_.erase(entry);
}

void PeerIndex::add(PeerId id, const PeerDescription& description) {
  by_description_.emplace(&description, id);
  size_t added = 0;
  try {
    for (const PlaneAddress& plane : description.planes) {
      add_address(id, plane.addr);
      ++added;
    }
  } catch (const std::bad_alloc&) {
    for (size_t i = 0; i < added; ++i) remove_address(id, description.planes[i].addr);
    by_description_.erase(&description);
    throw;
  }
}

void PeerIndex::remove(PeerId id, const PeerDescription& given, const PeerDescription& now) {
  by_description_.erase(&given);
  for (const PlaneAddress& plane : now.planes) remove_address(id, plane.addr);
}

void PeerIndex::replace(PeerId id, const IpAddress& from, const IpAddress& to) {
  if (from == to) return;
  add_address(id, to);
  remove_address(id, from);
}

PeerId PeerIndex::find(const PeerDescription& given) const {
  const auto entry = by_description_.find(&given);
  return entry != by_description_.end() ? entry->second : kNoPeer;
}

std::span<const PeerId> PeerIndex::at(const IpAddress& addr) const {
  const auto entry = by_address_.find(addr);
  return entry != by_address_.end() ? std::span<const PeerId>(entry->second) : std::span<const PeerId>();
}

}  // namespace mrc::core
