// The monitor's denies for its findings. Pure. [MRC-MON-5, MRC-MON-6, spec/mrcd.md]
#pragma once

#include <string>
#include <vector>

#include "ctl/deny.h"
#include "judge.h"

namespace mrc::mrcd {

// The position of a host on one plane.
struct OwnPlane {
  std::string t0;
  uint32_t t1s = 0;  // above it
  bool out = false;  // unused already: its port is off, or an administrator has denied all of it
};

// Rules of the monitor for the host of that name. A plane whose own link or T0 is at fault is denied whole, a T1 or a
// link by the uSIDs of the paths over it. Faults of other hosts' links are left to the transport. When on every plane
// everything above the T0 would be or is denied, nothing is: then the fault is more likely here than there. Nor
// is a T0 denied below which a host would have no plane left.
std::vector<ctl::DenyRule> denies_for(const std::vector<Finding>& findings, const std::string& host,
                                      const std::vector<OwnPlane>& own);

// The changes that turn the monitor's present rules into the required ones.
struct DenyChange {
  std::vector<ctl::DenyRule> add, remove;
};
DenyChange change_to(const std::vector<ctl::DenyRule>& wanted, const std::vector<ctl::DenyRule>& there);

}  // namespace mrc::mrcd
