#include "harness/fabric.h"

#include <algorithm>

namespace mrc::harness {

using namespace core;

bool Node::on_completion(const Completion& c) {
  (c.is_recv ? receives : sends).push_back(c);
  return on_done ? on_done(c) : true;
}

void Node::on_trace(const TraceEntry& e) {
  if (trace != nullptr) trace->push_back({e, index});
}

namespace {
constexpr uint32_t kFirstEv = 49152;
constexpr Duration kNoticedPause = Duration::milliseconds(2);

IpAddress address(int node, int plane) {
  return IpAddress::v4(10, static_cast<uint8_t>(plane), static_cast<uint8_t>(node >> 8),
                       static_cast<uint8_t>(node + 1));
}
}  // namespace

Fabric::Fabric(const FabricConfig& config)
    : config_(config), net_(config.seed * 7919 + 1, config.planes), burst_(std::make_unique<TxBurst>()) {
  for (int n = 0; n < config.nodes; ++n) {
    for (int p = 0; p < config.planes; ++p) net_.attach(n, p, address(n, p));
    nodes_.push_back(std::make_unique<Node>(n));
    start(n, config.seed * 1000003 + static_cast<uint64_t>(n), kFirstEv);
  }
}

void Fabric::start(int n, uint64_t seed, uint32_t first_ev) {
  EndpointConfig c = config_.endpoint;
  c.seed = seed;
  c.planes.clear();
  c.evs.clear();
  for (int p = 0; p < config_.planes; ++p) c.planes.push_back({address(n, p), 4791});
  for (int i = 0; i < config_.evs_per_plane + config_.backups_per_plane; ++i)
    for (int p = 0; p < config_.planes; ++p)
      c.evs.push_back({first_ev + static_cast<uint32_t>(i * config_.planes + p), plane_at(p),
                       config_.evs_per_link == 0 ? 0 : static_cast<uint32_t>(1 + i / config_.evs_per_link)});
  c.ev_active = static_cast<uint32_t>(config_.evs_per_plane * config_.planes);
  node(n).endpoint = std::make_unique<Endpoint>(c, &node(n), &node(n));
}

void Fabric::restart(int n, uint32_t first_ev) {
  start(n, config_.seed * 1000003 + static_cast<uint64_t>(n) + 0x1000, first_ev);
}

PeerDescription Fabric::describe(int node) const {
  PeerDescription d;
  for (int p = 0; p < config_.planes; ++p) d.planes.push_back({address(node, p), 4791});
  return d;
}

PeerId Fabric::peer(int from, int to) {
  return at(from).intern_peer(describe(to));
}

Qp* Fabric::make_qp(int node, const QpCaps& caps) {
  QpInit init;
  init.sink = &this->node(node);
  init.qpn = Qpn(this->node(node).next_qpn++);
  init.pd = 1;
  init.caps = caps;
  return at(node).create_qp(init);
}

bool Fabric::to_state(int node, Qp* qp, QpState state, const QpAttr& attr) {
  return at(node).modify_qp(now_, qp, state, attr);
}

Link Fabric::connect(int a, int b, QpAttr attr, const QpCaps& caps) {
  Link link{a, b, make_qp(a, caps), make_qp(b, caps)};
  if (link.qa == nullptr || link.qb == nullptr) return link;
  attr.access = 3;
  QpAttr reverse = attr;
  attr.peer = peer(a, b);
  attr.dest_qpn = at(b).qp_status(link.qb).qpn;
  reverse.peer = peer(b, a);
  reverse.dest_qpn = at(a).qp_status(link.qa).qpn;
  std::swap(reverse.sq_psn, reverse.rq_psn);
  reverse.mpr = attr.mpr_dest;
  reverse.mpr_dest = attr.mpr;
  reverse.max_wimm = attr.max_wimm_dest;
  reverse.max_wimm_dest = attr.max_wimm;
  for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    to_state(a, link.qa, s, attr);
    to_state(b, link.qb, s, reverse);
  }
  at(a).release_peer(attr.peer);
  at(b).release_peer(reverse.peer);
  return link;
}

Key Fabric::register_memory(int node, std::vector<uint8_t>& memory, uint32_t access) {
  return at(node).memory().add(memory.data(), reinterpret_cast<uint64_t>(memory.data()), memory.size(), access, 1);
}

PostResult Fabric::write(int node, Qp* qp, uint64_t wr_id, const void* from, uint32_t length, Key lkey, const void* to,
                         Key rkey, bool signaled) {
  Sge sge{reinterpret_cast<uint64_t>(from), length, lkey};
  SendWr wr;
  wr.wr_id = wr_id;
  wr.signaled = signaled;
  wr.sges = &sge;
  wr.num_sge = 1;
  wr.remote_addr = reinterpret_cast<uint64_t>(to);
  wr.rkey = rkey;
  return at(node).post_send(now_, qp, wr);
}

PostResult Fabric::write_imm(int node, Qp* qp, uint64_t wr_id, const void* from, uint32_t length, Key lkey,
                             const void* to, Key rkey, uint32_t imm, bool signaled) {
  Sge sge{reinterpret_cast<uint64_t>(from), length, lkey};
  SendWr wr;
  wr.wr_id = wr_id;
  wr.op = SendOp::kWriteImm;
  wr.signaled = signaled;
  wr.sges = &sge;
  wr.num_sge = 1;
  wr.remote_addr = reinterpret_cast<uint64_t>(to);
  wr.rkey = rkey;
  wr.imm = imm;
  return at(node).post_send(now_, qp, wr);
}

void Fabric::post_receives(int node, Qp* qp, uint64_t first_id, int count) {
  for (int i = 0; i < count; ++i) at(node).post_recv(now_, qp, first_id + static_cast<uint64_t>(i));
}

void Fabric::add_pause(const simnet::Pause& pause) {
  net_.add_pause(pause);
  node(pause.node).pauses.push_back(pause);
}

bool Fabric::runs(Node* n) {
  while (!n->pauses.empty() && n->pauses.front().to <= now_) {
    // As a device does: it cannot tell shorter pauses from work.
    if (n->pauses.front().to - n->pauses.front().from > kNoticedPause) n->endpoint->on_resumed(now_);
    n->reads_until = n->pauses.front().to + n->pauses.front().per_plane * config_.planes;
    n->pauses.pop_front();
  }
  return n->pauses.empty() || now_ < n->pauses.front().from;
}

void Fabric::pump() {
  for (auto& n : nodes_) runs(n.get());
  while (const auto due = net_.take(now_)) at(due->node).handle_rx(now_, due->burst);
  for (auto& n : nodes_) {
    if (!runs(n.get())) continue;
    // Timers wait until all that has arrived was read.
    if (n->endpoint->next_timeout() <= now_ && n->reads_until <= now_) n->endpoint->handle_timeout(now_);
    while (n->endpoint->poll_tx(now_, burst_.get())) net_.send(now_, n->index, *burst_);
  }
}

bool Fabric::step_until(Instant limit) {
  pump();
  return advance(limit);
}

bool Fabric::advance(Instant limit) {
  Instant next = net_.next_delivery();
  for (auto& n : nodes_)
    next = std::min(next, runs(n.get()) ? std::max(n->endpoint->next_timeout(), n->reads_until) : n->pauses.front().to);
  if (next >= Instant::never()) return false;
  // A timer that is due at once is served in the next round; time moves all the same, so no loop stands still.
  now_ = std::max(now_ + Duration::nanoseconds(1), std::min(next, limit));
  return true;
}

bool Fabric::run_until(const std::function<bool()>& done, Duration limit) {
  const Instant end = now_ + limit;
  while (!done()) {
    if (now_ >= end) return false;
    pump();
    // Asked before time moves on, so that now() is when it happened.
    if (done()) return true;
    if (!advance(end)) return false;
  }
  return true;
}

void Fabric::run_for(Duration time) {
  const Instant end = now_ + time;
  while (now_ < end && step_until(end)) {
  }
  now_ = std::max(now_, end);
}

void Fabric::record(std::vector<TraceRecord>* trace) {
  for (auto& n : nodes_) n->trace = trace;
}

}  // namespace mrc::harness
