// The kernel UDP driver's configuration and opening. Needs no privilege.
//
// Receive: one socket per plane (two when a second port is configured), GRO, TOS/traffic class, drop count. Transmit:
// one socket per EV, bound to (plane address, source port = low half of the EV value), GSO for bursts of several
// segments.
//
// With an Srv6Plan the entropy value chooses the switches, too: their uSIDs stand before the peer's own in the
// destination address of the datagrams, and the switches shift them away. The UDP checksum covers the address as it
// leaves, so the datagrams go without one, unless loops through the fabric show at opening that checksums survive
// (between namespaces, where nobody fills them in), and then with GSO. Receivers take both [MRC-SR-7..9].
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "datapath/host_datapath.h"

namespace mrc::datapath {

struct UdpSyscalls;

enum class Offload : uint8_t { kAuto, kOn, kOff };  // kAuto: as the self-test at opening finds; kOn: fail without it

struct UdpConfig : HostConfig {
  Offload gso = Offload::kAuto;  // with srv6, kOn also says that the fabric leaves checksums valid
  Offload gro = Offload::kAuto;
  uint32_t rx_buffers = 4;                // 64 KiB each: most bursts that one rx_burst returns with GRO
  const UdpSyscalls* syscalls = nullptr;  // tests inject failures; null: the kernel's
};

class UdpDatapath : public HostDatapath {
 public:
  // Null and a sentence in *error when a socket cannot be had; says which plane and what to do. errno in *err if given.
  static std::unique_ptr<UdpDatapath> open(const UdpConfig& config, std::string* error, int* err = nullptr);

  virtual bool gso() const = 0;
  virtual bool gro() const = 0;
};

}  // namespace mrc::datapath
