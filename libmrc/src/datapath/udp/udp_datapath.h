// The kernel UDP driver's configuration and opening. Needs no privilege.
//
// Receive: one socket per plane (two when a second port is configured), GRO, TOS/traffic class, drop count. Transmit:
// one socket per EV, bound to (plane address, source port = low half of the EV value), GSO for bursts of several
// segments.
//
// With an Srv6Plan the entropy value chooses the switches, too: their uSIDs precede the peer's own in the
// destination address of the datagrams, and the switches shift them out. The UDP checksum covers the address as it
// leaves, so the datagrams are sent without one, unless loops through the fabric show at opening that checksums survive
// (between namespaces, where they are not filled in), and then with GSO. Receivers accept both [MRC-SR-7..9].
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "datapath/host_datapath.h"

namespace mrc::datapath {

struct UdpSyscalls;

enum class Offload : uint8_t { kAuto, kOn, kOff };  // kAuto: by the self-test at opening; kOn: fail without it

struct UdpConfig : HostConfig {
  Offload gso = Offload::kAuto;  // with srv6, kOn also declares that the fabric keeps checksums valid
  Offload gro = Offload::kAuto;
  uint32_t rx_buffers = 4;                // 64 KiB each: maximum bursts that one rx_burst returns with GRO
  const UdpSyscalls* syscalls = nullptr;  // tests inject failures; null: the kernel's
};

class UdpDatapath : public HostDatapath {
 public:
  // Fails when a socket cannot be created, with plane and remedy; EADDRINUSE when a port is taken.
  static Result<std::unique_ptr<UdpDatapath>> open(const UdpConfig& config);

  virtual bool gso() const = 0;
  virtual bool gro() const = 0;
};

}  // namespace mrc::datapath
