// The entropy values of a datapath that builds complete frames, and the path of each of them to the peer of its last
// packet. One thread at a time, as the datapath. [MRC-SR-4..6, spec/srv6.md]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "datapath/host_datapath.h"
#include "datapath/srv6/usid.h"
#include "result.h"
#include "wire/flow.h"

namespace mrc::datapath {

class EvPaths {
 public:
  // Gives a source port to each EV that has none: ports only distinguish paths here, so no socket is bound to them.
  // EINVAL: an EV has a plane that does not exist.
  Status open(const HostConfig& config);
  const PerEv<core::EvEntry>& evs() const { return evs_; }
  // The addressing of a packet of that EV to the flow's destination. Valid until the next call.
  const SegmentPath& path(const wire::Flow& flow, PlaneId plane, EvIndex ev_index);
  // The flow as it appears in headers: without a label if labels carry no EV.
  wire::Flow as_sent(const wire::Flow& flow) const;

 private:
  struct Way {
    uint32_t number = 0;  // of the EV among those of its plane
    IpAddress peer;       // of the last packet, and the path there
    SegmentPath path;
  };

  std::shared_ptr<const Srv6Plan> srv6_;
  bool labels_ = false;
  PerEv<core::EvEntry> evs_;
  PerEv<Way> ways_;
};

}  // namespace mrc::datapath
