// Fabric: endpoints joined by a SimNet in virtual time, stepping from one wake-up to the next. What a scenario needs in
// a few readable calls: make nodes, connect QPs, register memory, post, run until something has happened.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/endpoint.h"
#include "simnet/simnet.h"

namespace mrc::harness {

struct TraceRecord : core::TraceEntry {
  int node = 0;
  friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};

struct Node final : core::Sink, core::QpSink, core::TraceSink {
  explicit Node(int n) : index(n) {}
  bool on_completion(const core::Completion& c) override;
  void on_event(core::AsyncEvent e) override { events.push_back(e); }
  void on_port_event(PlaneId, core::AsyncEvent e) override { events.push_back(e); }
  void on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt) override {
    responses.push_back({id, plane, rtt});
  }
  void on_trace(const core::TraceEntry& e) override;

  struct Response {
    uint16_t id;
    PlaneId plane;
    Duration rtt;
  };
  int index;
  std::unique_ptr<core::Endpoint> endpoint;
  std::vector<core::Completion> sends, receives;  // in order of arrival, all QPs
  std::vector<core::AsyncEvent> events;
  std::vector<Response> responses;
  std::vector<TraceRecord>* trace = nullptr;
  std::function<bool(const core::Completion&)> on_done;  // may look at memory at the moment of completion
  uint32_t next_qpn = 0x100;
  std::deque<simnet::Pause> pauses;  // of now and later
  Instant reads_until;               // what arrived during the last one
};

struct FabricConfig {
  int nodes = 2;
  int planes = 4;
  int evs_per_plane = 8;
  int backups_per_plane = 2;
  int evs_per_link = 0;  // so many of a plane, in their order, name one T1; 0: they name none
  uint64_t seed = 1;
  core::EndpointConfig endpoint;  // planes and evs are filled in
};

struct Link {  // a connected pair of QPs
  int a = 0, b = 1;
  core::Qp* qa = nullptr;
  core::Qp* qb = nullptr;
};

class Fabric {
 public:
  explicit Fabric(const FabricConfig& config);

  core::Endpoint& at(int node) { return *nodes_[static_cast<size_t>(node)]->endpoint; }
  Node& node(int n) { return *nodes_[static_cast<size_t>(n)]; }
  simnet::SimNet& net() { return net_; }
  Instant now() const { return now_; }
  const FabricConfig& config() const { return config_; }

  // A new process at the node's addresses: an endpoint without state of the old one, with EVs from that port on.
  void restart(int node, uint32_t first_ev);
  core::PeerDescription describe(int node) const;
  core::PeerId peer(int from, int to);
  core::Qp* make_qp(int node, const core::QpCaps& caps = {128, 128, 4, 64});
  // Both to RTS; `attr` gives everything but peer, QPN and PSNs, which are set here unless `psns` is false.
  Link connect(int a, int b, core::QpAttr attr = {}, const core::QpCaps& caps = {128, 128, 4, 64});
  bool to_state(int node, core::Qp* qp, core::QpState state, const core::QpAttr& attr);
  Key register_memory(int node, std::vector<uint8_t>& memory, uint32_t access = 3);

  core::PostResult write(int node, core::Qp* qp, uint64_t wr_id, const void* from, uint32_t length, Key lkey,
                         const void* to, Key rkey, bool signaled = true);
  core::PostResult write_imm(int node, core::Qp* qp, uint64_t wr_id, const void* from, uint32_t length, Key lkey,
                             const void* to, Key rkey, uint32_t imm, bool signaled = true);
  void post_receives(int node, core::Qp* qp, uint64_t first_id, int count);

  // One step: deliver, time out, send; then to the next wake-up. False when nothing is pending.
  bool step() { return step_until(Instant::never()); }
  void pump();  // send and deliver what is due now, without moving the clock
  // Until `done` holds or `limit` has passed; true when it holds.
  bool run_until(const std::function<bool()>& done, Duration limit);
  void run_for(Duration time);
  // The node does not run for that time; see simnet::Pause. What is under way already is delivered all the same. Pauses
  // of a node are added in their order.
  void add_pause(const simnet::Pause& pause);
  void record(std::vector<TraceRecord>* trace);

 private:
  void start(int node, uint64_t seed, uint32_t first_ev);
  bool runs(Node* node);           // now: it does not pause
  bool advance(Instant limit);     // to the next wake-up; false when nothing is pending
  bool step_until(Instant limit);  // the clock goes no further than `limit`

  FabricConfig config_;
  simnet::SimNet net_;
  Instant now_ = Instant::from_ns(1000000);
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<core::TxBurst> burst_;
};

}  // namespace mrc::harness
