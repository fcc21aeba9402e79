// DeviceConfig: the parameters of a software NIC at its start; made from the settings (settings.h) and the
// configuration file. Plain data; tests fill it by hand. [spec/settings.md]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ip.h"
#include "device/address_template.h"
#include "device/settings.h"
#include "result.h"

namespace mrc::device {

inline constexpr size_t kMaxDeviceName = 63;      // the size of the name in an ibv_device
inline constexpr uint32_t kSlotsPerPlane = 1024;  // ports of plane p start at port_base + p * kSlotsPerPlane

struct PlaneConfig {
  IpAddress addr;               // zero: that of the interface, which has none yet
  std::string interface;        // the interface named in the file, or empty
  bool bind_interface = false;  // SO_BINDTODEVICE; always for link-local addresses
  uint16_t port = 0;            // where slot 0 listens on this plane
  uint16_t port_base = 0;       // slot k > 0 listens on port_base + k
};

// A peer listed in the file; an address or `nic: true` takes precedence over the template.
struct PeerConfig {
  IpAddress gid;
  bool nic = false;               // a real MRC NIC: always the standard port, QPN without process slot
  std::vector<IpAddress> planes;  // empty: by the template; a zero address: the peer lacks this plane
};

struct DeviceConfig {
  std::string name = "mrc0";
  std::vector<IpAddress> gids;  // the GID table; zero entries are holes
  std::vector<PlaneConfig> planes;
  std::vector<PeerConfig> peers;
  AddressTemplate peer_template;  // empty: only own GIDs and listed peers are reachable
  bool built_in = false;          // nothing configured it: on loopback, with GIDs of this host alone
  bool learn_peers = false;       // peers that no rule covers are queried for their planes; the GID is on plane 1
  bool peers_are_nics = false;    // peers whose address comes from the template
  Settings settings;
  double line_rate_gbps = 0;  // configured, else the sum of the planes' network cards; 0: to be measured

  bool is_own_gid(const IpAddress& gid) const;
};

// All devices of a process.
struct Config {
  std::vector<DeviceConfig> devices;
  std::string file;  // empty: built-in defaults
};

// A configuration file; without a name if there is none.
struct ConfigText {
  std::string file, text;
};

// The file that MRC_CONFIG names, else /etc/mrc/mrc.yaml when it exists, else none.
Result<ConfigText> read_config_text(GetEnv env);
// The configuration of that file, else the defaults; the environment overrides the file. The error names file, line,
// key, value and the allowed values.
Result<Config> load_config(GetEnv env);
// The same from text; `file` is for messages. Interfaces named in it are looked up on this host.
Result<Config> parse_config(const std::string& text, const std::string& file, GetEnv env);
// The sum of the rates of all planes' network cards; 0 if a plane has none. `sysfs`: see card_speed_gbps().
double cards_gbps(const std::vector<PlaneConfig>& planes, const std::string& sysfs = "/sys/class/net");
// mrc0 with four planes on loopback, IPv6 where it works, else IPv4.
DeviceConfig loopback_config(const Settings& settings, bool ipv6);

}  // namespace mrc::device
