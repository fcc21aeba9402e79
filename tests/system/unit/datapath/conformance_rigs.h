// Pairs of joined datapaths for the conformance suite: one entry of rigs() per driver and mode. A test asks for nothing
// but what datapath.h promises, and for the limits that the rig states.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/config.h"
#include "datapath/datapath.h"

namespace mrc::datapath {

struct Rig {
  // One end: what it sends from and receives at.
  struct End {
    std::unique_ptr<Datapath> datapath;
    std::vector<core::PlaneAddress> planes;
    PerEv<core::EvEntry> evs;
  };
  std::shared_ptr<void> surroundings;  // namespaces and the like; before the ends, so that they are gone after them
  End a, b;
  bool carries_labels = false;     // the upper half of an EV arrives
  int told_by = 1;                 // descriptors that the first burst makes readable
  uint32_t largest_packet = 4144;  // bytes of UDP payload that every plane takes
};

struct RigKind {
  const char* name;
  std::function<void(Rig*)> make;
};
inline std::ostream& operator<<(std::ostream& out, const RigKind& kind) {
  return out << kind.name;
}

const std::vector<RigKind>& rigs();

}  // namespace mrc::datapath
