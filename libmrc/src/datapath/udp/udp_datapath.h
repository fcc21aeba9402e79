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
//
// With `srv6_encap` kernel the kernel's routes encapsulate instead, chosen by the source port: datagrams go to the
// peer's own address, with checksums and GSO, and an entropy value's port belongs to the part of its path
// [MRC-SR-25..27].
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "datapath/host_datapath.h"
#include "datapath/port_range.h"
#include "result.h"

namespace mrc::datapath {

struct UdpSyscalls;

enum class Offload : uint8_t { kAuto, kOn, kOff };  // kAuto: by the self-test at opening; kOn: fail without it

// How packets get the switches of their path.
enum class Srv6Encap : uint8_t { kNone, kKernel };  // kNone: the destination address of the datagrams names them

struct UdpConfig : HostConfig {
  Srv6Encap srv6_encap = Srv6Encap::kNone;
  PortRange source_ports;        // with kKernel: an equal part of it for each path
  Offload gso = Offload::kAuto;  // with srv6, kOn also declares that the fabric keeps checksums valid
  Offload gro = Offload::kAuto;
  uint32_t rx_buffers = 4;                // 64 KiB each: maximum bursts that one rx_burst returns with GRO
  uint32_t engines = 1;                   // of the device that are still to open, this one included
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
