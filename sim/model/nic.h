// NicBase: a NIC's ports, one per plane, each a link to that plane's T0. Data is pulled: a transport is called for a
// packet only when the line is about to be free, so that its choice of path is as late as in hardware and what waits
// inside the NIC is one packet per plane. Control packets pass data.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/fabric/plan.h"
#include "sim/model/port.h"
#include "sim/model/transport.h"

namespace mrc::sim {

struct NicPlaneCounters {
  uint64_t rx_data_packets = 0, rx_data_bytes = 0;  // bytes of UDP payload
};

class NicBase : public Receiver, public PortOwner, public Transport {
 public:
  NicBase(uint32_t index, PacketPool* pool, const FabricPlan* plan) : index_(index), pool_(pool), plan_(plan) {}

  void add_port(std::unique_ptr<Port> port) {
    port->set_owner(this, static_cast<uint16_t>(ports_.size()));
    ports_.push_back(std::move(port));
    plane_counters_.emplace_back();
  }
  Port& port(uint16_t plane) { return *ports_[plane]; }
  uint32_t index() const { return index_; }
  const NicPlaneCounters& plane_counters(uint32_t plane) const { return plane_counters_[plane]; }
  void set_listener(Listener* listener) { listener_ = listener; }

  // Received payload, each packet once.
  virtual uint64_t goodput_bytes() const = 0;
  // Every counter of the transport, by name.
  virtual void each_counter(const std::function<void(const char*, uint64_t)>& f) const = 0;
  virtual uint32_t qp_errors() const = 0;

  // The link of a plane has lost or regained its carrier.
  virtual void on_carrier(uint16_t plane, bool up) = 0;

 protected:
  // Room for data on a plane: nothing waits yet.
  bool has_room(uint16_t plane) const { return ports_[plane]->up() && ports_[plane]->data().empty(); }

  const uint32_t index_;
  PacketPool* const pool_;
  const FabricPlan* const plan_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<NicPlaneCounters> plane_counters_;
  Listener* listener_ = nullptr;
};

}  // namespace mrc::sim
