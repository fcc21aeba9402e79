// Switch: store and forward, output queued. Three ways to find the port, by the fabric's setting: uN (the packet's uSID
// list and static /48 routes), structured EV (T0 takes the uplink from the EV in the UDP source port), ECMP (T0 hashes
// addresses, ports and flow label with a salt of its own). A T1 has one port to every T0 and needs no choice.
//
// Without PFC a switch never holds packets back. With PFC it counts the queued bytes per ingress port and pauses the
// neighbour beyond xoff until it is below xon again.
#pragma once

#include <memory>
#include <vector>

#include "sim/fabric/plan.h"
#include "sim/model/port.h"

namespace mrc::sim {

struct PfcConfig {
  bool enabled = false;
  int64_t xoff = 0, xon = 0;  // bytes waiting per ingress port
};

struct SwitchCounters {
  uint64_t unroutable = 0, stuck = 0, pauses = 0;
};

class Switch final : public Receiver, public PortOwner {
 public:
  Switch(PacketPool* pool, const FabricPlan* plan, uint32_t plane, Tier tier, uint32_t index, uint64_t salt,
         const PfcConfig& pfc);

  // Ports in the plan's order.
  void add_port(std::unique_ptr<Port> port);
  Port& port(uint16_t i) { return *ports_[i]; }
  // The neighbour's port that sends to our port i: the one to be paused.
  void set_upstream(uint16_t i, Port* upstream, Ps delay);

  // A packet that has spent the switch's latency, which its link adds [Port::connect].
  void receive(Packet* p, uint16_t ingress) override;
  void on_left(const Packet& p) override;

  void set_stuck(bool stuck) { stuck_ = stuck; }  // swallows everything, links stay up
  bool stuck() const { return stuck_; }
  const SwitchCounters& counters() const { return counters_; }
  Tier tier() const { return tier_; }
  uint32_t plane() const { return plane_; }
  uint32_t index() const { return index_; }

 private:
  uint16_t route(Packet* p);
  uint16_t route_by_address(const Packet& p) const;
  void pause(uint16_t ingress, bool on);

  PacketPool* const pool_;
  const FabricPlan* const plan_;
  const uint32_t plane_;
  const Tier tier_;
  const uint32_t index_;
  const uint64_t salt_;
  const PfcConfig pfc_;
  const Ps latency_;
  const IpAddress block_;
  const uint16_t own_usid_;
  UsidTable routes_;
  std::vector<std::unique_ptr<Port>> ports_;
  struct Ingress {
    Port* upstream = nullptr;
    Ps delay = 0;
    int64_t waiting = 0;
    bool paused = false;
  };
  void check(const Ingress& in) const;
  std::vector<Ingress> ingress_;
  bool stuck_ = false;
  SwitchCounters counters_;
};

}  // namespace mrc::sim
