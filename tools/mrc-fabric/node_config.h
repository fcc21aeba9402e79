// NodeConfig: the configuration of one node so that the fabric forwards as planned, independent of its format:
// iproute2 in a namespace, FRR or SONiC on a switch. Static tables only: no routing protocol, no neighbour discovery
// [spec/wire.md, SRv6].
//
// Addresses beside those of the plan:
//     fe80::1, fe80::2      upper and lower end of every link; next hops, with static neighbour entries
//     BLOCK:OWN::           of a switch: answers when the list ends here; the source of its ICMP errors
//     BLOCK:NIC::           of a host on each plane: what a uSID list has become when it arrives
//     BLOCK:NIC:ffff::/64   of a host on each plane: decapsulates IPv6-in-IPv6 (End.DT6), for lists made by a kernel
//     table 10000+J         of a host: the paths over T1 number J to the hosts below other T0s, encapsulated; a rule
//                           for each by UDP source port [MRC-SR-25, spec/srv6.md]
//     route fd00::N+1             of host N on the management network
#pragma once

#include <string>
#include <vector>

#include "topology.h"

namespace mrc::fabric {

inline constexpr uint16_t kDecapUsid = 0xFFFF;
inline constexpr uint32_t kFirstTable = 10000;

// UDP ports, both inclusive.
struct PortSpan {
  uint32_t first = 0, last = 0;
};
// All source ports by which hosts choose among encapsulated paths, and the part of one T1.
inline constexpr PortSpan kSourcePorts{32768, 49151};

struct AddressConfig {
  std::string text;       // with prefix length
  bool preferred = true;  // false: never chosen as source
};

struct InterfaceConfig {
  std::string name, mac;
  uint32_t mtu = 0;
  double rate = 0;    // bits per second in the lab; 0: no limit
  int64_t queue = 0;  // bytes
  std::vector<AddressConfig> addresses;
  std::string peer_address, peer_mac;  // the neighbour entry
  std::string peer;                    // NODE:PORT, for people
};

enum class RouteKind : uint8_t { kVia, kUn, kDecap, kEncap, kBlackhole };

struct NextHop {
  std::string interface, via;
};

struct RouteConfig {
  RouteKind kind = RouteKind::kVia;
  std::string prefix;
  std::vector<NextHop> hops;  // several: by hash of the flow
  std::string source;         // preferred source address; empty: the kernel's choice
  std::string purpose{};      // of a switch's route: one line for the comments of rendered files
  std::string segments{};     // the uSID list of kEncap
  uint32_t table = 0;         // of kEncap; 0: main
};

struct RuleConfig {
  PortSpan source_ports;  // of UDP datagrams that this host sends
  uint32_t table = 0;     // also the rule's preference
};

struct NodeConfig {
  NodeId id;
  std::string name;
  bool forwards = false;
  bool hashes = false;   // spreads flows by ports, too
  std::string loopback;  // address of a switch
  uint16_t usid = 0;     // of a switch
  std::vector<InterfaceConfig> interfaces;
  std::vector<RouteConfig> routes;
  std::vector<RuleConfig> rules;
};

// Throws FabricError where the fabric cannot be made of ordinary switches.
NodeConfig node_config(const Topology& topology, const NodeId& node);

// Hosts have rules and routes by which their kernel encapsulates: they need one for each path to each peer.
bool hosts_encapsulate(const FabricSpec& spec);
PortSpan source_ports_of(const FabricSpec& spec, uint32_t t1);

// BLOCK:U::, and the /48 that a switch matches.
std::string usid_address(const FabricSpec& spec, uint16_t usid);
std::string usid_prefix(const FabricSpec& spec, uint16_t usid);
std::string management_address(uint32_t host);

}  // namespace mrc::fabric
