// MrcNic: the production engine (libmrc/src/core) as an ns-3 host. Only the tasks of a driver: received
// packets are passed to Endpoint::handle_rx, poll_tx is called whenever a plane has room, handle_timeout is called
// when next_timeout() is reached. Every decision about paths, windows and losses is the engine's.
//
// Packets leave with an outer IPv6 destination that holds the uSID list of their EV, as built by the raw driver.
// Payload is virtual: the memory regions have no bytes behind them, and ICRC is off.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/endpoint.h"
#include "sim/model/deferred.h"
#include "sim/model/nic.h"
#include "sim/model/virtual_memory.h"

namespace mrc::sim {

struct MrcConfig {
  core::EndpointConfig endpoint;     // planes, EVs and seed are filled in per NIC
  core::QpAttr qp;                   // peer, QPNs and PSNs are filled in
  Ps carrier_delay = 10 * kPsPerUs;  // until the NIC detects that a local link has gone down or up
};

class MrcNic final : public NicBase, public core::Sink, public core::TraceSink {
 public:
  using Tracer = std::function<void(uint32_t nic, const core::TraceEntry&)>;

  MrcNic(uint32_t index, PacketPool* pool, const FabricPlan* plan, const MrcConfig& config, uint64_t seed,
         const std::vector<std::unique_ptr<NicBase>>* nics, const Tracer* tracer);
  ~MrcNic() override;

  void connect(uint32_t dst, uint32_t qp) override;
  void send(const Message& m) override;
  void receive(Packet* p, uint16_t plane) override;
  void on_room(uint16_t plane) override;
  void on_carrier(uint16_t plane, bool up) override;

  core::Endpoint& endpoint() { return *endpoint_; }
  const std::vector<Ev>& evs() const { return evs_; }
  const MrcConfig& config() const { return config_; }
  core::PeerId peer_of(uint32_t nic) const;  // kNoPeer when there was no traffic
  uint64_t goodput_bytes() const override { return goodput_bytes_; }
  void each_counter(const std::function<void(const char*, uint64_t)>& f) const override;
  uint32_t qp_errors() const override { return qp_errors_; }

 private:
  struct Connection final : core::QpSink {
    bool on_completion(const core::Completion& c) override;
    void on_event(core::AsyncEvent) override {}

    MrcNic* nic = nullptr;
    core::Qp* qp = nullptr;
    Qpn qpn;
    bool failed = false;
    std::deque<Message> waiting;  // beyond the send queue
  };
  // Those to a peer are found by peer and slot; those that peers have made are only kept.
  class Connections {
   public:
    Connection* find(uint32_t peer, uint32_t slot) const {
      const auto found = to_peers_.find(key(peer, slot));
      return found != to_peers_.end() ? found->second.get() : nullptr;
    }
    Connection* add(uint32_t peer, uint32_t slot, std::unique_ptr<Connection> made) {
      return (to_peers_[key(peer, slot)] = std::move(made)).get();
    }
    Connection* add_passive(std::unique_ptr<Connection> made) {
      passive_.push_back(std::move(made));
      return passive_.back().get();
    }

   private:
    static uint64_t key(uint32_t peer, uint32_t slot) { return static_cast<uint64_t>(slot) << 32 | peer; }

    std::unordered_map<uint64_t, std::unique_ptr<Connection>> to_peers_;
    std::vector<std::unique_ptr<Connection>> passive_;
  };
  struct Done {
    Connection* connection;
    uint32_t id;
    bool received, failed;
  };

  void on_port_event(PlaneId, core::AsyncEvent) override {}
  void on_endpoint_response(uint16_t, PlaneId, Duration) override {}
  void on_trace(const core::TraceEntry& e) override;

  Connection* connection_to(uint32_t peer, uint32_t slot);
  std::unique_ptr<Connection> make_connection(MrcNic* peer);
  core::PeerId intern(uint32_t nic);
  void bring_up(Connection* c, Qpn peer_qpn, core::PeerId peer_id);
  void post(Connection* c, const Message& m);
  void pump();
  void report_completions();
  void report(const Done& done);
  void transmit(const core::TxBurst& burst);
  void arm_timer();
  void on_timer();
  PlaneSet planes_with_room() const;

  const MrcConfig config_;
  const std::vector<std::unique_ptr<NicBase>>* const nics_;
  const Tracer* const tracer_;
  std::vector<Ev> evs_;
  Connections connections_;
  std::unique_ptr<core::Endpoint> endpoint_;  // after its QPs' sinks
  std::unordered_map<uint32_t, core::PeerId> peers_;
  Deferred<Done> done_;  // for the listener, who may post at once
  uint32_t next_qpn_ = 0x100;
  VirtualMemory memory_;
  uint32_t qp_errors_ = 0;
  uint64_t goodput_bytes_ = 0;  // payload placed, each byte once
  bool pumping_ = false;
  Ps timer_at_ = INT64_MAX;
  Recurring<MrcNic, &MrcNic::on_timer> timer_event_{this};
};

}  // namespace mrc::sim
