// The kernel UDP driver's configuration and opening. Needs no privilege.
//
// Receive: one socket per plane (two when a second port is configured), GRO, TOS/traffic class, drop count. Transmit:
// one socket per EV, bound to (plane address, source port = low half of the EV value), GSO for bursts of several
// segments.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ip.h"
#include "core/config.h"
#include "datapath/datapath.h"

namespace mrc::datapath {

struct UdpSyscalls;

enum class Offload : uint8_t { kAuto, kOn, kOff };  // kAuto: as the self-test at opening finds; kOn: fail without it

struct UdpPlane {
  IpAddress addr;            // must be an address of this host
  uint16_t port = 0;         // receive port; 0: any free one, reported by UdpDatapath::plane_port()
  uint16_t second_port = 0;  // also received on where it is free, for peers that use 4971; 0: none
  std::string interface;     // SO_BINDTODEVICE when not empty (needed for link-local addresses)
};

struct UdpConfig {
  std::vector<UdpPlane> planes;
  // EV table, same order as EndpointConfig::evs. A source port (low half of value) of 0 is replaced by a free one when
  // the socket is bound: read the filled table back with UdpDatapath::evs().
  std::vector<core::EvEntry> evs;
  bool structured_ev = false;  // the high half of the EV travels in the IPv6 flow label (TxBurst::flow.flow_label)
  Offload gso = Offload::kAuto;
  Offload gro = Offload::kAuto;
  uint32_t rcvbuf = 8u << 20;             // bytes wanted per receive socket
  uint32_t sndbuf = 4u << 20;             // bytes wanted per transmit socket
  uint32_t rx_buffers = 4;                // 64 KiB each: most bursts that one rx_burst returns with GRO
  const UdpSyscalls* syscalls = nullptr;  // tests inject failures; null: the kernel's
};

class UdpDatapath : public Datapath {
 public:
  // Null and a sentence in *error when a socket cannot be had; says which plane and what to do. errno in *err if given.
  static std::unique_ptr<UdpDatapath> open(const UdpConfig& config, std::string* error, int* err = nullptr);

  virtual uint16_t plane_port(uint8_t plane) const = 0;
  virtual const std::vector<core::EvEntry>& evs() const = 0;
  virtual bool gso() const = 0;
  virtual bool gro() const = 0;
  // Largest UDP payload that leaves plane unfragmented (interface MTU less IP and UDP headers).
  virtual uint32_t plane_payload(uint8_t plane) const = 0;
  // Sentences about things to raise (net.core.rmem_max and so on); empty when all is well.
  virtual const std::vector<std::string>& advice() const = 0;
  // What is not as it was asked for, and does no harm.
  virtual const std::vector<std::string>& notes() const = 0;
};

// Spreads `total` EV entries with free source ports equally over `planes`: entry i belongs to plane i % planes.
std::vector<core::EvEntry> auto_evs(uint32_t total, uint32_t planes);

}  // namespace mrc::datapath
