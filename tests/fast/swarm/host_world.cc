// One seed of the swarm over the public API: programs on two or three hosts, each with a device of its own, and a
// network with faults between them. Programs end without a word and are started again at the same addresses, with the
// same memory; connections are given up in the middle and made anew. What a connection that is gone has sent must not
// show in the one that took its place, requests to a peer that is gone must end, and what lives must finish.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mrc.h"
#include "mrc_soft.h"
#include "swarm/stream_check.h"
#include "swarm/swarm_world.h"
#include "swarm/virtual_hosts.h"

namespace mrc::swarm {

namespace {

constexpr uint32_t kBuffer = 64 << 10;
constexpr size_t kMaxOld = 2;                                // connections of a pair that are broken, not closed
constexpr size_t kPlaces = (kMaxHosts - 1) * (kMaxOld + 1);  // for a source and a target, in a host's memory
constexpr uint32_t kMaxRecvWr = 64;
constexpr uint32_t kReceive = 1u << 31;  // in the lower half of a wr_id; the upper one has the connection
constexpr Duration kEndsWithin = Duration::seconds(20);  // requests to a peer that is gone; and all, after the faults

// What a program has for one connection.
struct End {
  int host = 0;
  size_t place = 0;      // of the buffers in its host's memory
  mrc_qp* qp = nullptr;  // null: closed
  uint32_t qpn = 0, psn = 0;
  uint8_t *source = nullptr, *target = nullptr;
  ibv_mr *from = nullptr, *to = nullptr;
  uint32_t receives = 0;  // posted
};

struct Connection {
  uint32_t serial = 0;
  std::array<End, 2> ends;
  std::vector<StreamCheck> streams;  // from the end of the same index to the other one
  bool broken = false;               // one end is gone, or going
  Instant broken_at;
  bool waits = false;  // the other end is closed only when its requests have ended
};

// Two hosts that are connected for as long as both run, by one connection after the other.
struct Pair {
  std::array<int, 2> hosts{};
  std::unique_ptr<Connection> now;
  std::vector<std::unique_ptr<Connection>> old;  // broken, with one end that is still there
};

struct Program {
  ibv_context* verbs = nullptr;  // null: it does not run
  mrc_context* context = nullptr;
  ibv_pd* pd = nullptr;
  mrc_cq* cq = nullptr;
  std::vector<uint8_t> memory;  // outlives the program: the next one has the same addresses
  std::array<bool, kPlaces> taken{};
  Instant starts;
};

class HostWorld {
 public:
  explicit HostWorld(uint64_t seed) : rng_(seed ^ 0x4057), seed_(seed) {}
  Outcome run();

 private:
  void build();
  void draw_faults();
  void open(int host);
  void close(int host);
  void close(End* end);
  void connect(Pair* pair);
  void take_place(End* end, int host);
  void create(End* end);
  void connect(End* end, const End& peer);
  void crash(int host);
  void give_up(Pair* pair);
  void replace_broken(Pair* pair);
  void meddle();
  void post(Connection* c, size_t from);
  void post_receives(Connection* c, size_t to);
  void poll_cq(int host);
  void on_done(int host, const ibv_wc& wc);
  void turn(Duration max);
  bool finished() const;

  void fail(const std::string& what) {
    if (outcome_.ok) outcome_.failure = what;
    outcome_.ok = false;
  }
  void expect(bool holds, const char* what) {
    if (!holds) fail(what);
  }
  void fail_if(const std::string& broken) {
    if (!broken.empty()) fail(broken);
  }
  void break_up(Connection* c) {
    if (c->broken) return;
    for (const StreamCheck& stream : c->streams) fail_if(stream.check_memory(false));
    c->broken = true;
    c->broken_at = hosts_->now();
    c->waits = rng_.chance(0.5);
  }
  Program& at(int host) { return programs_[static_cast<size_t>(host)]; }

  Rng rng_;
  uint64_t seed_;
  Outcome outcome_;
  std::unique_ptr<VirtualHosts> hosts_;
  std::array<Program, kMaxHosts> programs_;
  std::vector<Pair> pairs_;
  std::map<uint32_t, Connection*> by_serial_;
  int count_ = 2;
  ibv_qp_cap cap_{};
  ibv_mtu mtu_ = IBV_MTU_1024;
  uint32_t crashes_ = 0, given_up_ = 0, ended_ = 0;
  uint32_t serials_ = 0;
};

void HostWorld::build() {
  HostsConfig c;
  c.seed = rng_.next();
  c.hosts = count_ = 2 + static_cast<int>(rng_.below(kMaxHosts - 1));
  c.planes = 1 + static_cast<int>(rng_.below(4));
  c.evs_per_plane = 2 + static_cast<int>(rng_.below(8));
  c.settings.linger_quiet_ms = 0;
  c.settings.trimming = rng_.chance(0.3);
  c.settings.ack_delay_us = static_cast<int>(rng_.below(30));
  hosts_ = std::make_unique<VirtualHosts>(c);
  cap_.max_send_wr = 1 + rng_.below(32);
  cap_.max_recv_wr = kMaxRecvWr;
  cap_.max_send_sge = cap_.max_recv_sge = 1;
  mtu_ = static_cast<ibv_mtu>(IBV_MTU_256 + rng_.below(5));
  for (int a = 0; a < count_; ++a)
    for (int b = a + 1; b < count_; ++b) {
      pairs_.emplace_back().hosts = {a, b};
    }
  for (int host = 0; host < count_; ++host) {
    at(host).memory.resize(size_t{2} * kBuffer * kPlaces);
    open(host);
  }
}

void HostWorld::draw_faults() {
  for (int p = 0; p < hosts_->net().planes(); ++p) {
    simnet::LinkConfig& l = hosts_->net().link(p);
    l.latency = Duration::microseconds(1 + rng_.below(20));
    l.rate_bps = 1e9 * (5 + rng_.below(45));
    l.queue_bytes = 50000u << rng_.below(5);
    if (rng_.chance(0.3)) l.jitter = Duration::microseconds(1 + rng_.below(100));
    if (rng_.chance(0.5)) l.loss = rng_.unit() * 0.05;
    if (rng_.chance(0.3)) l.duplicate = rng_.unit() * 0.1;
    if (rng_.chance(0.4)) l.reorder = rng_.unit() * 0.2;
    // Packets of a connection that is gone, late enough to meet the next one.
    if (rng_.chance(0.3)) l.reorder_delay = Duration::microseconds(rng_.below(6000));
    if (rng_.chance(0.3)) l.corrupt = rng_.unit() * 0.05;
  }
  hosts_->net().set_coalescing(rng_.chance(0.5));
}

void HostWorld::open(int host) {
  Program& p = at(host);
  p.verbs = mrc_soft_open_device_by_name(VirtualHosts::device_name(host));
  if (p.verbs == nullptr) return fail("a device does not open");
  p.context = mrc_create_context(p.verbs, nullptr);
  p.pd = mrc_soft_alloc_pd(p.verbs);
  if (p.context == nullptr || p.pd == nullptr) return fail("no context or no domain");
  p.cq = mrc_create_cq(p.context, 1024, nullptr, nullptr, 0);
  expect(p.cq != nullptr, "no completion queue");
}

void HostWorld::close(int host) {
  for (auto& [serial, connection] : by_serial_)
    for (End& end : connection->ends)
      if (end.host == host && end.qp != nullptr) close(&end);
  Program& p = at(host);
  expect(mrc_destroy_cq(p.cq) == 0, "a completion queue is not destroyed");
  expect(mrc_destroy_context(p.context) == 0, "a context is not destroyed");
  expect(mrc_soft_dealloc_pd(p.pd) == 0, "a domain is not freed");
  expect(mrc_soft_close_device(p.verbs) == 0, "a device is not closed");
  p.verbs = nullptr;
}

void HostWorld::close(End* end) {
  expect(mrc_destroy_qp(end->qp) == 0, "a queue pair is not destroyed");
  expect(mrc_soft_dereg_mr(end->from) == 0 && mrc_soft_dereg_mr(end->to) == 0, "a region is not deregistered");
  end->qp = nullptr;
  at(end->host).taken[end->place] = false;
}

void HostWorld::connect(Pair* pair) {
  pair->now = std::make_unique<Connection>();
  Connection& c = *pair->now;
  c.serial = ++serials_;
  by_serial_[c.serial] = &c;
  for (size_t i : {0, 1}) take_place(&c.ends[i], pair->hosts[i]);
  for (size_t i : {0, 1})
    c.streams.emplace_back(draw_messages(&rng_, rng_.below(30), 8000, kBuffer), c.ends[i].source, c.ends[1 - i].target,
                           kBuffer, c.serial * 17 + static_cast<uint32_t>(i * 5 + seed_));
  for (End& end : c.ends) create(&end);
  if (!outcome_.ok) return;
  connect(&c.ends[0], c.ends[1]);
  connect(&c.ends[1], c.ends[0]);
}

void HostWorld::take_place(End* end, int host) {
  end->host = host;
  Program& p = at(host);
  while (p.taken[end->place]) ++end->place;
  p.taken[end->place] = true;
  end->source = p.memory.data() + size_t{2} * kBuffer * end->place;
  end->target = end->source + kBuffer;
}

void HostWorld::create(End* end) {
  const Program& p = at(end->host);
  mrc_qp_init_attr init{};
  init.send_cq = init.recv_cq = p.cq;
  init.cap = cap_;
  init.pd = p.pd;
  end->qp = mrc_create_qp(p.context, &init);
  end->from = mrc_soft_reg_mr(p.pd, end->source, kBuffer, 0);
  end->to = mrc_soft_reg_mr(p.pd, end->target, kBuffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (end->qp == nullptr || end->from == nullptr || end->to == nullptr) return fail("no queue pair or no region");
  expect(mrc_get_qpn(end->qp, &end->qpn) == 0, "a queue pair has no number");
  end->psn = static_cast<uint32_t>(rng_.next()) & 0xFFFFFF;
}

void HostWorld::connect(End* end, const End& peer) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  expect(
      mrc_modify_qp(end->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, nullptr, 0) == 0,
      "not to INIT");
  a = {};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = mtu_;
  a.dest_qp_num = peer.qpn;
  a.rq_psn = peer.psn;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  expect(mrc_soft_query_gid(at(peer.host).verbs, 1, 0, &a.ah_attr.grh.dgid) == 0, "no GID");
  expect(mrc_modify_qp(end->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
                       nullptr, 0) == 0,
         "not to RTR");
  a = {};
  a.qp_state = IBV_QPS_RTS;
  a.sq_psn = end->psn;
  mrc_qp_attr retry{};
  retry.timeout = 10;
  retry.retry = {3, 3};  // some 70 ms: a program that is gone is noticed while the world lasts
  expect(mrc_modify_qp(end->qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN, &retry, MRC_QP_TIMEOUT | MRC_QP_RETRY_CNT) == 0,
         "not to RTS");
}

void HostWorld::crash(int host) {
  ++crashes_;
  for (Pair& pair : pairs_)
    if (pair.now != nullptr && (pair.hosts[0] == host || pair.hosts[1] == host)) break_up(pair.now.get());
  hosts_->crash(host);
  close(host);
  at(host).starts = hosts_->now() + Duration::microseconds(rng_.below(5000));
}

// The program at one end destroys its queue pair in the middle of it all; its peer does not know.
void HostWorld::give_up(Pair* pair) {
  if (pair->now == nullptr || pair->now->broken) return;
  ++given_up_;
  break_up(pair->now.get());
  close(&pair->now->ends[rng_.below(2)]);
}

// Closes what is left of broken connections, and makes the next one, perhaps while they last.
void HostWorld::replace_broken(Pair* pair) {
  if (pair->now != nullptr && pair->now->broken) pair->old.push_back(std::move(pair->now));
  for (const auto& c : pair->old)
    for (size_t i : {0, 1}) {
      End& end = c->ends[i];
      if (end.qp == nullptr) continue;
      if (c->waits && c->streams[i].pending()) {
        if (hosts_->now() > c->broken_at + kEndsWithin) fail("a request to a peer that is gone has not ended");
      } else if (c->waits || rng_.chance(0.1)) {
        close(&end);
      }
    }
  pair->old.erase(std::remove_if(pair->old.begin(), pair->old.end(),
                                 [&](const auto& c) {
                                   const bool closed = c->ends[0].qp == nullptr && c->ends[1].qp == nullptr;
                                   if (closed) by_serial_.erase(c->serial);
                                   return closed;
                                 }),
                  pair->old.end());
  if (pair->now == nullptr && pair->old.size() < kMaxOld && at(pair->hosts[0]).verbs != nullptr &&
      at(pair->hosts[1]).verbs != nullptr)
    connect(pair);
}

void HostWorld::meddle() {
  const int host = static_cast<int>(rng_.below(static_cast<uint32_t>(count_)));
  if (rng_.chance(0.5)) {
    if (at(host).verbs != nullptr) crash(host);
  } else {
    give_up(&pairs_[rng_.below(static_cast<uint32_t>(pairs_.size()))]);
  }
}

void HostWorld::post_receives(Connection* c, size_t to) {
  End& end = c->ends[to];
  while (end.receives < c->streams[1 - to].imms_done() + 1 + rng_.below(8)) {
    ibv_recv_wr wr{};
    wr.wr_id = static_cast<uint64_t>(c->serial) << 32 | kReceive | end.receives;
    ibv_recv_wr* bad;
    if (mrc_post_recv(end.qp, &wr, &bad) != 0) return expect(c->broken, "a receive request is refused");
    ++end.receives;
  }
}

void HostWorld::post(Connection* c, size_t from) {
  const End& end = c->ends[from];
  const End& peer = c->ends[1 - from];
  StreamCheck& stream = c->streams[from];
  if (end.qp == nullptr) return;
  post_receives(c, from);
  while (const StreamMessage* const m = stream.next(cap_.max_send_wr)) {
    ibv_sge sge{reinterpret_cast<uint64_t>(end.source) + m->offset, m->length, end.from->lkey};
    ibv_send_wr wr{};
    wr.wr_id = static_cast<uint64_t>(c->serial) << 32 | stream.posted();
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = m->imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    wr.send_flags = m->signaled ? IBV_SEND_SIGNALED : 0;
    wr.imm_data = stream.imm(stream.posted());
    wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(peer.target) + m->offset;
    wr.wr.rdma.rkey = peer.to->rkey;
    ibv_send_wr* bad;
    if (mrc_post_send(end.qp, &wr, &bad) != 0) return expect(c->broken, "a request that fits is refused");
    stream.count_posted();
    if (rng_.chance(0.3)) break;
  }
}

void HostWorld::poll_cq(int host) {
  std::array<ibv_wc, 8> wc{};
  const int n = mrc_poll_cq(at(host).cq, static_cast<int>(wc.size()), wc.data());
  expect(n >= 0, "polling fails");
  for (int i = 0; i < n; ++i) on_done(host, wc[static_cast<size_t>(i)]);
}

void HostWorld::on_done(int host, const ibv_wc& wc) {
  const auto found = by_serial_.find(static_cast<uint32_t>(wc.wr_id >> 32));
  if (found == by_serial_.end()) return fail("a completion of a connection that is gone");
  Connection& c = *found->second;
  const size_t side = c.ends[0].host == host ? 0 : 1;
  const End& end = c.ends[side];
  if (end.qp == nullptr || wc.qp_num != end.qpn) return fail("a completion of a queue pair that is destroyed");
  if (wc.status != IBV_WC_SUCCESS) {
    ++ended_;
    if (!c.broken) return fail(std::string("a completion says ") + std::to_string(wc.status));
  }
  const bool success = wc.status == IBV_WC_SUCCESS;
  const auto number = static_cast<uint32_t>(wc.wr_id);
  if ((number & kReceive) == 0)
    return fail_if(success ? c.streams[side].on_sent(number) : c.streams[side].on_failed(number));
  // Once it is broken, the peer's memory may be another connection's.
  if (success) fail_if(c.streams[1 - side].on_received(number & ~kReceive, wc.imm_data, wc.byte_len, !c.broken));
}

bool HostWorld::finished() const {
  for (const Pair& pair : pairs_) {
    if (pair.now == nullptr || pair.now->broken || !pair.old.empty()) return false;
    for (const StreamCheck& stream : pair.now->streams)
      if (!stream.finished()) return false;
  }
  return true;
}

void HostWorld::turn(Duration max) {
  for (int host = 0; host < count_; ++host)
    if (at(host).verbs == nullptr && hosts_->now() >= at(host).starts) {
      hosts_->restart(host);
      open(host);
    }
  for (Pair& pair : pairs_) {
    replace_broken(&pair);
    for (size_t from : {0, 1})
      if (pair.now != nullptr && rng_.chance(0.5)) post(pair.now.get(), from);
  }
  for (int host = 0; host < count_; ++host)
    if (at(host).verbs != nullptr) poll_cq(host);
  hosts_->step(max);
}

Outcome HostWorld::run() {
  build();
  draw_faults();
  const Instant faults_end = hosts_->now() + Duration::microseconds(500 + rng_.below(30000));
  const double restless = rng_.unit() * 0.01;
  while (outcome_.ok && hosts_->now() < faults_end) {
    turn(Duration::microseconds(20));
    if (rng_.chance(restless)) meddle();
  }
  hosts_->net().clear_faults();
  const Instant limit = hosts_->now() + kEndsWithin * 2;
  while (outcome_.ok && !finished() && hosts_->now() < limit) turn(Duration::microseconds(100));
  if (outcome_.ok && !finished()) fail("not finished after the faults");
  for (const Pair& pair : pairs_)
    for (size_t from : {0, 1})
      if (outcome_.ok) fail_if(pair.now->streams[from].check_memory(true));
  for (int host = 0; host < count_; ++host)
    if (at(host).verbs != nullptr) close(host);
  const simnet::SimNetCounters& n = hosts_->net().counters();
  char text[200];
  std::snprintf(
      text, sizeof text,
      "hosts %d planes %d sq %u mtu %d crashes %u given up %u connections %u failed requests %u packets %llu lost "
      "%llu, %.3f ms",
      count_, hosts_->net().planes(), cap_.max_send_wr, 128 << mtu_, crashes_, given_up_, serials_, ended_,
      static_cast<unsigned long long>(n.sent), static_cast<unsigned long long>(n.lost + n.queue_drops),
      static_cast<double>(hosts_->now().ns()) / 1e6);
  outcome_.summary = text;
  return outcome_;
}

}  // namespace

Outcome run_host_world(uint64_t seed) {
  return HostWorld(seed).run();
}

}  // namespace mrc::swarm
