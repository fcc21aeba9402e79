#include "core/multicast_groups.h"

#include <algorithm>

#include "invariant.h"

namespace mrc::core {

namespace {

// ff0e::ffff:0:0/96, as rdma_cm of RoCE v1 puts an IPv4 group into a GID.
constexpr std::array<uint8_t, 12> kV4Groups = {0xFF, 0x0E, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

}  // namespace

IpAddress group_address(const IpAddress& group, bool v4) {
  if (group.is_v4() == v4) return group;
  IpAddress other = group;
  if (!v4) {
    std::copy(kV4Groups.begin(), kV4Groups.end(), other.bytes.begin());
    return other;
  }
  const std::array<uint8_t, 16>& b = group.bytes;
  if (std::equal(kV4Groups.begin(), kV4Groups.end(), b.begin()) && b[12] >> 4 == 14)
    return IpAddress::v4(b[12], b[13], b[14], b[15]);
  return IpAddress::v4(239, b[13], b[14], b[15]);
}

Attached MulticastGroups::attach(DatagramQp* qp, const IpAddress& group) {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.gid == group; });
  if (found != groups_.end()) {
    std::vector<DatagramQp*>& members = found->members;
    if (std::find(members.begin(), members.end(), qp) != members.end()) return Attached::kBefore;
    if (members.size() >= kMaxMembers) return Attached::kNoRoom;
    members.push_back(qp);
    return Attached::kNow;
  }
  if (groups_.size() >= max_groups_) return Attached::kNoRoom;
  groups_.push_back({group, group_address(group, true), group_address(group, false), {qp}});
  return Attached::kNow;
}

// True if it was a member; a group without members ends.
bool MulticastGroups::leave(size_t index, DatagramQp* qp) {
  std::vector<DatagramQp*>& members = groups_[index].members;
  const auto found = std::find(members.begin(), members.end(), qp);
  if (found == members.end()) return false;
  members.erase(found);
  if (members.empty()) groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

bool MulticastGroups::detach(DatagramQp* qp, const IpAddress& group) {
  for (size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i].gid == group) return leave(i, qp);
  return false;
}

void MulticastGroups::remove(DatagramQp* qp) {
  for (size_t i = groups_.size(); i-- > 0;) (void)leave(i, qp);
}

bool MulticastGroups::has(const IpAddress& group) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const Group& g) { return g.gid == group; });
}

std::vector<IpAddress> MulticastGroups::of(const DatagramQp* qp) const {
  std::vector<IpAddress> found;
  for (const Group& g : groups_)
    if (std::find(g.members.begin(), g.members.end(), qp) != g.members.end()) found.push_back(g.gid);
  return found;
}

void MulticastGroups::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(groups_.size() <= max_groups_);
  for (const Group& g : groups_)
    MRC_INVARIANT(g.gid.is_multicast() && !g.members.empty() && g.members.size() <= kMaxMembers);
}

}  // namespace mrc::core
