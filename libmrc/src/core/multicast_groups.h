// MulticastGroups: the groups of one endpoint, and the datagram QPs that are attached to each. Both are bounded,
// because every datagram is compared with every group and copied for every member. [MRC-UD-9..11]
#pragma once

#include <cstdint>
#include <vector>

#include "base/ip.h"

namespace mrc::core {

class DatagramQp;

// The address of a group on planes of that IP version [MRC-UD-9].
IpAddress group_address(const IpAddress& group, bool v4);

enum class Attached : uint8_t { kNow, kBefore, kNoRoom };

class MulticastGroups {
 public:
  static constexpr uint32_t kMaxMembers = 64;  // of one group

  explicit MulticastGroups(uint32_t max_groups) : max_groups_(max_groups) {}
  MulticastGroups(const MulticastGroups&) = delete;
  MulticastGroups& operator=(const MulticastGroups&) = delete;

  // Throws std::bad_alloc, and changes nothing then.
  Attached attach(DatagramQp* qp, const IpAddress& group);
  bool detach(DatagramQp* qp, const IpAddress& group);  // false: it is not attached
  void remove(DatagramQp* qp);                          // from every group
  bool has(const IpAddress& group) const;               // it has a member
  std::vector<IpAddress> of(const DatagramQp* qp) const;

  // By the address of a received packet, in either form, which several groups may share. `visit(qp, gid of the group)`
  // changes no membership. False: no group has the address.
  template <typename Visit>
  bool for_each_member(const IpAddress& address, const Visit& visit) const {
    bool any = false;
    for (const Group& g : groups_) {
      if (address != g.v4 && address != g.v6) continue;
      any = true;
      for (DatagramQp* const qp : g.members) visit(qp, g.gid);
    }
    return any;
  }
  void check() const;

 private:
  struct Group {
    IpAddress gid;
    IpAddress v4, v6;                  // on planes of that version
    std::vector<DatagramQp*> members;  // in the order of attaching; never empty
  };

  bool leave(size_t index, DatagramQp* qp);

  const uint32_t max_groups_;
  std::vector<Group> groups_;
};

}  // namespace mrc::core
