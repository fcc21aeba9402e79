// The common part of the datapaths over this host's own interfaces: the configuration of their planes and EVs, and
// the functions for the device beside sending and receiving.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/ip.h"
#include "core/config.h"
#include "datapath/datapath.h"
#include "datapath/srv6/plan.h"

namespace mrc::datapath {

struct HostPlane {
  IpAddress addr;            // of this host; zero: not known yet, the plane begins closed
  uint16_t port = 0;         // receive port; 0: any free one, reported by HostDatapath::plane_port()
  uint16_t second_port = 0;  // second receive port if it is free, for peers that use 4971; 0: none
  std::string interface;     // SO_BINDTODEVICE when not empty (needed for link-local addresses)
};

struct HostConfig {
  PerPlane<HostPlane> planes;
  // EV table, same order as EndpointConfig::evs. A source port (low half of value) of 0 is replaced when the datapath
  // opens: read the filled table back with HostDatapath::evs().
  PerEv<core::EvEntry> evs;
  bool structured_ev = false;            // the high half of the EV is carried in the IPv6 flow label
  std::shared_ptr<const Srv6Plan> srv6;  // null: packets are addressed to the peer alone
  uint32_t rcvbuf = 8u << 20;            // bytes requested per receive socket
  uint32_t sndbuf = 4u << 20;            // bytes requested per transmit socket
};

class HostDatapath : public Datapath {
 public:
  virtual uint16_t plane_port(PlaneId plane) const = 0;
  virtual const PerEv<core::EvEntry>& evs() const = 0;
  // Largest UDP payload that leaves plane unfragmented (interface MTU less all headers).
  virtual uint32_t plane_payload(PlaneId plane) const = 0;
  // Sentences about limits to raise (net.core.rmem_max and so on); empty if there are none.
  virtual const std::vector<std::string>& advice() const = 0;
  // What enables other users of this host to disturb the device, and what to do about it; empty: nothing does.
  virtual std::string exposure() const { return {}; }
  // Harmless deviations from the configuration.
  virtual const std::vector<std::string>& notes() const = 0;
};

// Spreads `total` EV entries with free source ports equally over `planes`: entry i belongs to plane i % planes.
PerEv<core::EvEntry> auto_evs(uint32_t total, uint32_t planes);

}  // namespace mrc::datapath
