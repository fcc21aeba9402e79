// FabricSpec: the one description of a fabric, as in its YAML file: planes, switches, NICs, links, queues, uSID
// numbering and EV format. Every plane is a two-tier Clos of its own: NIC n has one port per plane, on that plane's T0
// number n / nics_per_t0; every T0 has one link to every T1 of its plane. Nothing here needs ns-3, so the device, the
// namespace lab and the switch configuration can read the same file.
//
// Indices count from 0 in files, code and output. R, the base round trip, is that of one full packet over the longest
// path; a plane's BDP is its NIC link's rate times R [spec/nscc.md, sections 1 and 5].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ip.h"
#include "sim/config/reader.h"
#include "sim/config/units.h"

namespace mrc::sim {

enum class Forwarding : uint8_t {
  kSrv6,  // uN: static /48 routes on the packet's uSID list
  kStev,  // T0 takes the uplink from a field of the EV
  kEcmp,  // T0 takes the uplink from a hash of addresses, ports and flow label
};

struct LinkSpec {
  double rate = 100e9;        // bits per second, each direction
  Ps delay = 500 * kPsPerNs;  // propagation
};

struct SwitchSpec {
  Forwarding forwarding = Forwarding::kSrv6;
  Ps latency = 0;  // added to every packet, beside store and forward
  bool trimming = true;
  uint32_t trim_bytes = 128;          // of a trimmed packet on the link
  bool trim_random = false;           // coin flip between the arriving and the newest queued packet
  Size queue = {1.0, true};           // data beyond this is trimmed
  Size queue_last_hop = {1.5, true};  // the same on ports to NICs
  Size drop_queue = {5.0, true};      // without trimming: data beyond this is dropped
  Size ecn_min = {0.2, true};         // marking at dequeue begins here
  Size ecn_max = {0.8, true};         // and is certain from here on
  double ecn_share = 1;               // probability that it has just before
  bool ecn_last_hop = false;          // MRC: no marks on ports to NICs
  Size trimmed_queue = {1.0, true};   // trimmed packets beyond this are dropped
  double trimmed_share = 0.25;        // of the link, while data waits
  Size control_queue = {1.0, true};
};

struct UsidSpec {
  IpAddress block;            // the first 32 bits count
  uint32_t plane_shift = 12;  // a uSID is (plane << plane_shift) + base + index
  uint32_t t0_base = 0x0400;
  uint32_t t1_base = 0x0800;
  uint32_t nic_base = 0x0C00;  // index of the NIC; where those of a plane do not fit, its index below the T0
};

struct EvSpec {
  uint32_t count = 128;  // active EVs of a NIC, all planes together
  uint32_t backups = 0;  // further ones, all planes together
};

// Differences of the lab in network namespaces: real switches are faster than a kernel that emulates all of them.
struct LabSpec {
  double rate_scale = 1;     // times the links' rates
  uint32_t link_mtu = 9216;  // IP packets on every link
  int64_t queue = 0;         // bytes that a port queues before it drops; 0: 5 ms at the port's rate, at least 512 KiB
  // Switches in user space that trim and mark according to SwitchSpec; the kernel emulates the others.
  bool mrc_switch_t0 = false, mrc_switch_t1 = false;
  std::vector<std::string> mrc_switches;  // by name, such as p0-t0-1
};

struct FabricSpec {
  std::string name = "unnamed";
  uint32_t planes = 2;
  uint32_t t0 = 2;  // per plane
  uint32_t t1 = 2;  // per plane
  uint32_t nics_per_t0 = 4;
  LinkSpec nic_link, spine_link;
  uint32_t overhead = 126;  // bytes on the link beside the UDP payload: Ethernet with preamble and gap, two IPv6, UDP
  uint32_t mtu = 4096;      // payload of a full packet
  SwitchSpec sw;
  UsidSpec usid;
  EvSpec ev;
  LabSpec lab;

  uint32_t nics() const { return t0 * nics_per_t0; }
  uint32_t t0_of(uint32_t nic) const { return nic / nics_per_t0; }
  // Every NIC has a uSID of its own on its plane. In fabrics too large for that it has one below its T0 only.
  bool nic_usids_are_unique() const;
  uint32_t full_packet() const { return mtu + kTransportBytes + overhead; }  // bytes on the link
  Ps base_rtt() const;
  double plane_bdp() const { return nic_link.rate / 8 * static_cast<double>(base_rtt()) / kPsPerSecond; }
  double line_rate() const { return nic_link.rate * planes; }

  static constexpr uint32_t kTransportBytes = 40;  // BTH, METH, TSETH, RETH, ICRC
  static constexpr uint32_t kControlBytes = 52;    // a SACK
};

// Reads and checks. `node` is the map of a fabric file; with the key `base`, the name of a built-in fabric, it only
// gives the differences from that one. Throws ConfigError.
FabricSpec read_fabric(const YAML::Node& node, const Source& source);
// `node` written out: a name or a path is replaced by the file's map, `base` by what it is based on;
// and where its parts were read. `folder`: where relative paths start.
struct ExpandedFabric {
  YAML::Node node;
  Source source;
};
ExpandedFabric expand_fabric(const YAML::Node& node, const Source& source, const std::string& folder);
// Name of a built-in fabric, or a path. Throws ConfigError.
FabricSpec load_fabric(const std::string& name_or_path);

struct Builtin {
  const char* name;
  const char* sentence;  // its sizes, and what it is for
  const char* yaml;
};
const std::vector<Builtin>& builtin_fabrics();
const Builtin* find_builtin(const std::string& name);  // null: there is none
std::string builtin_names();                           // all, with commas

}  // namespace mrc::sim
