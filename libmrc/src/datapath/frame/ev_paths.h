// The entropy values of a datapath that makes whole frames, and the way that each of them takes to the peer it last
// went to. One thread at a time, as the datapath. [MRC-SR-4..6, spec/srv6.md]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datapath/host_datapath.h"
#include "datapath/srv6/usid.h"
#include "wire/flow.h"

namespace mrc::datapath {

class EvPaths {
 public:
  // Gives a source port to each EV that has none: ports only tell paths apart here, so nothing is bound to them. False:
  // an EV names a plane that is not there.
  bool open(const HostConfig& config, std::string* error);
  const std::vector<core::EvEntry>& evs() const { return evs_; }
  // How a packet of that EV gets to the flow's destination. Valid until the next call.
  const SegmentPath& path(const wire::Flow& flow, uint8_t plane, uint16_t ev_index);
  // The flow as its headers say it: without a label where labels carry nothing.
  wire::Flow as_sent(const wire::Flow& flow) const;

 private:
  struct Way {
    uint32_t number = 0;  // of the EV among those of its plane
    IpAddress peer;       // of the last packet, and the way there
    SegmentPath path;
  };

  std::shared_ptr<const Srv6Plan> srv6_;
  bool labels_ = false;
  std::vector<core::EvEntry> evs_;
  std::vector<Way> ways_;
};

}  // namespace mrc::datapath
