// The datapath over DPDK ports: frames as of the raw datapath (IPv6 in IPv6 with the path in the outer destination, SRH
// where it does not fit), in bursts, polled. IPv6 only. [MRC-SR-11..15, MRC-SR-18..21, spec/srv6.md]
//
// DPDK is not linked: the driver is a module of its own, libmrc-dpdk.so, which is loaded when a device requires it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "datapath/frame/gateway.h"
#include "datapath/host_datapath.h"
#include "result.h"

namespace mrc::datapath {

struct DpdkConfig {
  std::string module;              // file of the module; empty: beside this library, else the linker's search path
  std::string eal;                 // arguments of DPDK's environment, separated by blanks
  std::vector<std::string> ports;  // one per plane: PCI address, port name, or device arguments (net_memif0,role=...)
  std::vector<Gateway> gateways;   // one per plane
  uint32_t mtu = 0;                // bytes of an IPv6 packet; 0: as reported by the port
  bool checksum = true;            // UDP checksums: by the port where it can, else in software; false: 0
  Duration poll = Duration::microseconds(20);  // maximum interval of polls while the application does not poll
};

// The module's export under kDpdkModuleEntry. `version` is kDpdkModuleVersion of the caller: module and library
// must come from one build, because they share C++ types. Null: sentence and errno value in *error and *err, not a
// Result: modules of all versions agree on these two types, and report a wrong version by them.
inline constexpr char kDpdkModuleEntry[] = "mrc_dpdk_open";
inline constexpr uint32_t kDpdkModuleVersion = 3 + 16 * (sizeof(HostConfig) + sizeof(DpdkConfig));
using DpdkModuleEntry = HostDatapath*(uint32_t version, const HostConfig& config, const DpdkConfig& dpdk,
                                      std::string* error, int* err);

// Fails when the module or a port is unavailable; EADDRINUSE when a UDP port is taken.
Result<std::unique_ptr<HostDatapath>> open_dpdk_datapath(const HostConfig& config, const DpdkConfig& dpdk);

}  // namespace mrc::datapath
