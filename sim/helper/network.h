// Network: all switches, links and NICs of a fabric, built from its plan, with handles by which faults and measurements
// find them. One per run; the simulator holds the events, so a network outlives destroy_simulator().
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "sim/fabric/plan.h"
#include "sim/model/mrc_nic.h"
#include "sim/model/roce_nic.h"
#include "sim/model/switch.h"

namespace mrc::sim {

enum class TransportKind : uint8_t { kMrc, kRoce };

struct TransportConfig {
  TransportKind kind = TransportKind::kMrc;
  uint32_t qps = 1;  // per pair of NICs; workloads spread messages over them
  MrcConfig mrc;
  RoceConfig roce;
  PfcConfig pfc;
};

// A cable: two ports, one per direction, `down` towards the lower end (NIC or T0).
struct Link {
  enum class Kind : uint8_t { kNic, kSpine } kind = Kind::kNic;
  uint32_t plane = 0;
  uint32_t low = 0;   // NIC, or T0
  uint32_t high = 0;  // T0, or T1
  Port* up = nullptr;
  Port* down = nullptr;
};

class Network {
 public:
  Network(const FabricSpec& spec, const TransportConfig& transport, uint64_t seed, MrcNic::Tracer tracer = {});
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  const FabricPlan& plan() const { return plan_; }
  const FabricSpec& spec() const { return plan_.spec(); }
  const TransportConfig& transport() const { return transport_; }
  NicBase& nic(uint32_t i) { return *nics_[i]; }
  MrcNic* mrc_nic(uint32_t i) { return dynamic_cast<MrcNic*>(nics_[i].get()); }
  RoceNic* roce_nic(uint32_t i) { return dynamic_cast<RoceNic*>(nics_[i].get()); }
  Switch& sw(uint32_t plane, Tier tier, uint32_t index);
  std::vector<Link>& links() { return links_; }
  Link& nic_link(uint32_t plane, uint32_t nic) { return links_[plane * spec().nics() + nic]; }
  Link& spine_link(uint32_t plane, uint32_t t0, uint32_t t1) {
    return links_[spec().planes * spec().nics() + (plane * spec().t0 + t0) * spec().t1 + t1];
  }
  const PacketPool& pool() const { return pool_; }
  void each_switch(const std::function<void(Switch&)>& f);

  // Both directions of a cable; NICs learn of their carrier.
  void set_link_up(Link& link, bool up);

 private:
  QueueConfig queue_config(bool last_hop) const;
  void cable(Link link, Receiver* high, uint16_t high_port, Receiver* low, uint16_t low_port);

  FabricPlan plan_;
  TransportConfig transport_;
  PacketPool pool_;
  Rng rng_;
  MrcNic::Tracer tracer_;
  std::vector<std::unique_ptr<Switch>> switches_;  // per plane: T0s, then T1s
  std::vector<std::unique_ptr<NicBase>> nics_;
  std::vector<Link> links_;
};

}  // namespace mrc::sim
