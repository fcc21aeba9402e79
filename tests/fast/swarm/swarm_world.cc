#include "swarm/swarm_world.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/congestion/registry.h"
#include "harness/fabric.h"
#include "swarm/stream_check.h"

namespace mrc::swarm {

using namespace core;
using harness::Fabric;
using harness::FabricConfig;
using harness::Link;

namespace {

constexpr uint32_t kMemoryBytes = 1 << 20;  // room for the longest messages

// One direction of one connection with its own memory on both sides.
struct Stream {
  int from = 0, to = 1;
  Qp* sender = nullptr;
  Qp* receiver = nullptr;
  Qpn sender_qpn, receiver_qpn;
  std::vector<uint8_t> source, target;
  Key lkey, rkey;
  std::optional<StreamCheck> check;
  uint32_t receives_posted = 0;
  bool destroyed = false;
};

class World {
 public:
  explicit World(uint64_t seed) : rng_(seed), seed_(seed) {}
  Outcome run();
  std::string stuck_streams() const;  // how far each has come

 private:
  FabricConfig draw_fabric();
  void draw_faults(Instant until);
  void build_streams();
  void post_some(Stream& s);
  bool on_done(int node, const Completion& c);
  bool finished() const;
  void meddle();
  void check_counters();
  void fail(const std::string& what) {
    if (outcome_.ok) outcome_.failure = what;
    outcome_.ok = false;
  }
  void fail_if(const std::string& broken) {
    if (!broken.empty()) fail(broken);
  }

  Rng rng_;
  uint64_t seed_;
  Outcome outcome_;
  std::unique_ptr<Fabric> fabric_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::map<std::pair<int, Qpn>, Stream*> by_sender_, by_receiver_;
  QpCaps caps_;
  QpAttr attr_;
};

FabricConfig World::draw_fabric() {
  FabricConfig f;
  f.seed = rng_.next();
  f.nodes = 2 + static_cast<int>(rng_.below(2));
  f.planes = 1 + static_cast<int>(rng_.below(8));
  f.evs_per_plane = 1 + static_cast<int>(rng_.below(8));
  f.backups_per_plane = static_cast<int>(rng_.below(3));
  EndpointConfig& e = f.endpoint;
  e.max_segments = rng_.chance(0.4) ? 1 : 1 + rng_.below(20);
  e.sack_bytes = 1024u << rng_.below(8);
  e.ack_delay = Duration::microseconds(rng_.below(30));
  e.timestamps = rng_.chance(0.8);
  e.trimming = rng_.chance(0.3);
  e.congestion.line_rate_bps = 25e9 * f.planes;
  e.congestion.base_rtt = Duration::microseconds(12 + rng_.below(30));
  // The default most often, every other algorithm sometimes.
  const auto algorithms = congestion_algorithms();
  if (rng_.chance(0.4)) e.congestion.algorithm = algorithms[rng_.below(static_cast<uint32_t>(algorithms.size()))];
  return f;
}

void World::draw_faults(Instant until) {
  auto& net = fabric_->net();
  for (int p = 0; p < net.planes(); ++p) {
    simnet::LinkConfig& l = net.link(p);
    l.latency = Duration::microseconds(1 + rng_.below(20));
    l.rate_bps = 1e9 * (5 + rng_.below(45));
    l.queue_bytes = 20000u << rng_.below(6);
    l.trim = fabric_->config().endpoint.trimming;
    if (rng_.chance(0.3)) l.ecn_bytes = l.queue_bytes / 4;
    if (rng_.chance(0.3)) l.jitter = Duration::microseconds(1 + rng_.below(100));
    if (rng_.chance(0.5)) l.loss = rng_.unit() * (rng_.chance(0.2) ? 0.4 : 0.05);
    if (rng_.chance(0.2)) l.burst_loss = rng_.unit() * 0.01;
    if (rng_.chance(0.3)) l.duplicate = rng_.unit() * 0.1;
    if (rng_.chance(0.4)) l.reorder = rng_.unit() * 0.2;
    if (rng_.chance(0.3)) l.corrupt = rng_.unit() * 0.05;
  }
  const uint32_t outages = rng_.below(4);
  for (uint32_t i = 0; i < outages; ++i) {
    simnet::Outage o;
    o.plane = rng_.chance(0.2) ? -1 : static_cast<int>(rng_.below(static_cast<uint32_t>(net.planes())));
    o.node = rng_.chance(0.5) ? -1 : static_cast<int>(rng_.below(static_cast<uint32_t>(fabric_->config().nodes)));
    const int64_t span = (until - fabric_->now()).ns();
    o.from = fabric_->now() + Duration::nanoseconds(static_cast<int64_t>(rng_.next() % static_cast<uint64_t>(span)));
    o.to = o.from + Duration::microseconds(rng_.below(20000));
    net.add_outage(o);
  }
  if (rng_.chance(0.3)) net.set_ev_loss(static_cast<uint16_t>(49152 + rng_.below(8)), rng_.unit());
  net.set_coalescing(rng_.chance(0.5));
}

void World::build_streams() {
  static constexpr uint32_t kMtus[] = {256, 512, 1024, 2048, 4096, 8192};
  attr_.path_mtu = kMtus[rng_.below(6)];
  attr_.mpr = static_cast<uint8_t>(1 + rng_.below(8));
  attr_.mpr_dest = attr_.mpr;
  attr_.dynamic_mpr = rng_.chance(0.2);
  attr_.max_wimm = static_cast<uint16_t>(1 + rng_.below(16));
  attr_.max_wimm_dest = attr_.max_wimm;
  attr_.timeout = static_cast<uint8_t>(8 + rng_.below(7));
  attr_.trim_nack = rng_.chance(0.8);
  caps_.max_send_wr = 1 + rng_.below(32);
  caps_.max_recv_wr = 64;
  caps_.max_send_sge = 3;
  const uint32_t pairs = 1 + rng_.below(4);
  for (uint32_t i = 0; i < pairs; ++i) {
    const int a = static_cast<int>(rng_.below(static_cast<uint32_t>(fabric_->config().nodes)));
    const int b = (a + 1 + static_cast<int>(rng_.below(static_cast<uint32_t>(fabric_->config().nodes - 1)))) %
                  fabric_->config().nodes;
    QpAttr attr = attr_;
    attr.sq_psn = Psn(static_cast<uint32_t>(rng_.next()));
    attr.rq_psn = Psn(rng_.chance(0.5) ? 0xFFFFF0 + rng_.below(16) : static_cast<uint32_t>(rng_.next()));
    const Link link = fabric_->connect(a, b, attr, caps_);
    const bool both = rng_.chance(0.4);
    for (int way = 0; way < (both ? 2 : 1); ++way) {
      auto s = std::make_unique<Stream>();
      s->from = way == 0 ? a : b;
      s->to = way == 0 ? b : a;
      s->sender = way == 0 ? link.qa : link.qb;
      s->receiver = way == 0 ? link.qb : link.qa;
      s->sender_qpn = fabric_->at(s->from).qp_status(s->sender).qpn;
      s->receiver_qpn = fabric_->at(s->to).qp_status(s->receiver).qpn;
      std::vector<StreamMessage> messages = draw_messages(&rng_, 1 + rng_.below(30), 30000, kMemoryBytes);
      const size_t bytes = messages.back().offset + messages.back().length + kStreamMargin;
      s->source.resize(bytes);
      s->target.resize(bytes);
      s->check.emplace(std::move(messages), s->source.data(), s->target.data(), bytes,
                       s->sender_qpn.value() * 17 + static_cast<uint32_t>(seed_));
      s->lkey = fabric_->register_memory(s->from, s->source, kAccessLocalWrite);
      s->rkey = fabric_->register_memory(s->to, s->target);
      by_sender_[{s->from, s->sender_qpn}] = s.get();
      by_receiver_[{s->to, s->receiver_qpn}] = s.get();
      streams_.push_back(std::move(s));
    }
  }
  for (int n = 0; n < fabric_->config().nodes; ++n)
    fabric_->node(n).on_done = [this, n](const Completion& c) { return on_done(n, c); };
}

void World::post_some(Stream& s) {
  if (s.destroyed) return;
  // As few receive requests as may be, so that immediates wait sometimes.
  while (s.receives_posted < s.check->imms_done() + 1 + rng_.below(8) && s.receives_posted < 1000) {
    if (fabric_->at(s.to).post_recv(fabric_->now(), s.receiver, s.receives_posted) != PostResult::kOk) break;
    ++s.receives_posted;
  }
  while (const StreamMessage* const m = s.check->next(caps_.max_send_wr)) {
    Sge sges[3];
    uint32_t n = 0;
    const uint64_t base = reinterpret_cast<uint64_t>(s.source.data()) + m->offset;
    const uint32_t first = m->length > 0 && rng_.chance(0.3) ? rng_.below(m->length) : m->length;
    if (first > 0) sges[n++] = {base, first, s.lkey};
    if (rng_.chance(0.2)) sges[n++] = {0, 0, Key()};
    if (first < m->length) sges[n++] = {base + first, m->length - first, s.lkey};
    SendWr wr;
    wr.wr_id = s.check->posted();
    wr.op = m->imm ? SendOp::kWriteImm : SendOp::kWrite;
    wr.signaled = m->signaled;
    wr.sges = sges;
    wr.num_sge = n;
    wr.remote_addr = reinterpret_cast<uint64_t>(s.target.data()) + m->offset;
    wr.rkey = s.rkey;
    wr.imm = s.check->imm(s.check->posted());
    if (fabric_->at(s.from).post_send(fabric_->now(), s.sender, wr) != PostResult::kOk)
      return fail("post_send refused a request that fits");
    s.check->count_posted();
    if (rng_.chance(0.3)) break;
  }
}

bool World::on_done(int node, const Completion& c) {
  auto& map = c.is_recv ? by_receiver_ : by_sender_;
  const auto it = map.find({node, c.qpn});
  if (it == map.end()) return fail("completion for a QP that has no such direction"), true;
  Stream& s = *it->second;
  if (c.status != WcStatus::kSuccess)
    return fail("completion with status " + std::to_string(static_cast<int>(c.status))), true;
  if (c.is_recv) {
    fail_if(s.check->on_received(c.wr_id, c.imm, c.byte_len, true));
    return true;
  }
  const size_t before = s.check->done();
  fail_if(s.check->on_sent(c.wr_id));
  if (c.slots != s.check->done() - before) fail("send completion frees the wrong number of slots");
  return true;
}

// [MRC-CNT-1] [MRC-CNT-3]
void World::check_counters() {
  for (int i = 0; i < fabric_->config().nodes; ++i) {
    const Counters& c = fabric_->at(i).counters();
    if (c.fast_retransmits > c.retransmits || c.spurious_retransmits > c.retransmits)
      fail("more packets were sent again for a reason than in all, by node " + std::to_string(i));
  }
}

bool World::finished() const {
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const auto& s) { return s->destroyed || s->check->finished(); });
}

// Administration in the middle of it all.
void World::meddle() {
  const int node = static_cast<int>(rng_.below(static_cast<uint32_t>(fabric_->config().nodes)));
  Endpoint& e = fabric_->at(node);
  switch (rng_.below(6)) {
    case 0: {
      Stream& s = *streams_[0];
      if (s.from != node || s.destroyed) break;
      e.set_ev_denied(fabric_->now(), e.qp_status(s.sender).peer, ev_at(rng_.below(4)), rng_.chance(0.5));
      break;
    }
    case 1:
      if (fabric_->config().planes > 1)
        e.set_plane_up(fabric_->now(), plane_at(rng_.below(static_cast<uint32_t>(fabric_->config().planes))),
                       rng_.chance(0.5));
      break;
    case 2:
      e.set_receiver_penalty(static_cast<uint8_t>(rng_.below(128)), rng_.chance(0.5));
      break;
    case 3:
      e.flush_all_acks();
      break;
    case 4: {  // a QP disappears with its peer
      if (streams_.size() < 2 || !rng_.chance(0.2)) break;
      Stream& victim = *streams_.back();
      if (victim.destroyed) break;
      for (auto& s : streams_)
        if (s->sender == victim.sender || s->sender == victim.receiver) s->destroyed = true;
      fabric_->at(victim.from).destroy_qp(victim.sender);
      fabric_->at(victim.to).destroy_qp(victim.receiver);
      break;
    }
    default:
      break;
  }
}

std::string World::stuck_streams() const {
  std::string stuck;
  for (auto& s : streams_)
    if (!s->destroyed)
      stuck += " [" + std::to_string(s->check->done()) + "/" + std::to_string(s->check->size()) + " posted " +
               std::to_string(s->check->posted()) + " imms " + std::to_string(s->check->imms_done()) + " recvs " +
               std::to_string(s->receives_posted) + " inflight " +
               std::to_string(fabric_->at(s->from).qp_status(s->sender).inflight) + " cwnd " +
               std::to_string(fabric_->at(s->from).qp_status(s->sender).cwnd) + " unacked " +
               std::to_string(fabric_->at(s->from).qp_status(s->sender).outstanding_packets) + "]";
  return stuck;
}

Outcome World::run() {
  const FabricConfig config = draw_fabric();
  fabric_ = std::make_unique<Fabric>(config);
  build_streams();
  const Instant faults_end = fabric_->now() + Duration::microseconds(500 + rng_.below(60000));
  draw_faults(faults_end);
  char text[256];
  std::snprintf(text, sizeof text, "nodes %d planes %d evs %d+%d streams %zu mtu %u mpr %u wimm %u sq %u segments %u",
                config.nodes, config.planes, config.evs_per_plane, config.backups_per_plane, streams_.size(),
                attr_.path_mtu, attr_.mpr, attr_.max_wimm, caps_.max_send_wr, config.endpoint.max_segments);
  outcome_.summary = text;

  while (outcome_.ok && fabric_->now() < faults_end && !finished()) {
    for (auto& s : streams_)
      if (rng_.chance(0.5)) post_some(*s);
    if (rng_.chance(0.05)) meddle();
    const Instant before = fabric_->now();
    for (int i = 0; i < 20 && outcome_.ok; ++i)
      if (!fabric_->step()) break;
    if (fabric_->now() == before) fabric_->run_for(Duration::microseconds(10));
  }
  for (auto& s : streams_) fail_if(s->check->check_memory(false));

  // Faults stop; planes come up, denials are lifted, and everything must finish.
  fabric_->net().clear_faults();
  for (int n = 0; n < config.nodes; ++n) {
    for (int p = 0; p < config.planes; ++p) fabric_->at(n).set_plane_up(fabric_->now(), plane_at(p), true);
    fabric_->at(n).set_receiver_penalty(0, true);
  }
  for (auto& s : streams_) {
    if (s->destroyed) continue;
    const PeerId p = fabric_->at(s->from).qp_status(s->sender).peer;
    for (const EvIndex ev : EvRange(4)) fabric_->at(s->from).set_ev_denied(fabric_->now(), p, ev, false);
  }
  const Instant limit = fabric_->now() + Duration::seconds(20);
  while (outcome_.ok && !finished() && fabric_->now() < limit) {
    for (auto& s : streams_) post_some(*s);
    bool pending = true;
    for (int i = 0; i < 50 && outcome_.ok && pending; ++i) pending = fabric_->step();
    // With nothing under way and no timer set, only a call of the application could move it: there is none to come.
    if (!pending && !finished()) {
      for (auto& s : streams_) post_some(*s);
      if (!fabric_->step()) break;
    }
  }
  if (outcome_.ok && !finished()) fail("not finished 20 s after the faults:" + stuck_streams());
  for (auto& s : streams_) fail_if(s->check->check_memory(!s->destroyed));
  check_counters();
  const simnet::SimNetCounters& n = fabric_->net().counters();
  uint64_t retransmits = 0;
  for (int i = 0; i < config.nodes; ++i) retransmits += fabric_->at(i).counters().retransmits;
  std::snprintf(
      text, sizeof text,
      "; packets %llu lost %llu trimmed %llu corrupted %llu duplicated %llu marked %llu retransmitted %llu, %.3f ms",
      static_cast<unsigned long long>(n.sent), static_cast<unsigned long long>(n.lost) + n.queue_drops,
      static_cast<unsigned long long>(n.trimmed), static_cast<unsigned long long>(n.corrupted),
      static_cast<unsigned long long>(n.duplicated), static_cast<unsigned long long>(n.marked),
      static_cast<unsigned long long>(retransmits), static_cast<double>(fabric_->now().ns()) / 1e6);
  outcome_.summary += text;
  return outcome_;
}

}  // namespace

Outcome run_world(uint64_t seed) {
  return World(seed).run();
}

}  // namespace mrc::swarm
