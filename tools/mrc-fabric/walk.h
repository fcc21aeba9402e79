// The path of one packet, computed from the nodes' tables (node_config.h), hop by hop. Any destination
// can be followed: the list of a path, one that a person made up, or a plain address.
#pragma once

#include <string>
#include <vector>

#include "node_config.h"

namespace mrc::fabric {

struct Hop {
  NodeId node;
  std::string in, out;  // ports; empty at the ends of the way
  IpAddress arrives;    // destination address on arrival
  IpAddress leaves;     // and as sent, shifted by the node's own uSID
};

struct Walk {
  std::vector<Hop> hops;
  bool arrived = false;
  bool by_hash = false;  // somewhere a hash decides; the way shown is the first of several
  std::string end;       // why it ends where it ends
};

Walk walk_packet(const Topology& topology, uint32_t source, const IpAddress& destination);

// A user's description of a path: "PLANE/T1", the number of an EV of the source's device (the file that hosts get
// spreads them over planes and T1s in turn), or an IPv6 address.
struct PathChoice {
  IpAddress destination;
  std::string words;  // "plane 0 over T1 1"
};
PathChoice choose_path(const Topology& topology, uint32_t source, uint32_t target, const std::string& text);

// The paths, as "PLANE/T1", of an EV as mrcctl and mrclog print it. Empty for anything else.
//
// Such an EV is LABEL, LABEL:PORT or both as one number, in hexadecimal: 0x0003, 0x0003:56938, 0x0003de6a. The label,
// alone, is the entry among the EVs of a plane, from 1 (MRC-SR-6); every plane has it, so one EV stands for a path on
// each, unless @ and the port of the device (from 1) follow: 0x0003@2.
std::vector<std::string> paths_of_ev(const Topology& topology, const std::string& text);

}  // namespace mrc::fabric
