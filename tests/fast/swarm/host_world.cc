// One seed of the swarm over the public API: programs on two or three hosts, each with a device of its own, and a
// network with faults between them. Programs end without a word and are started again at the same addresses, with the
// same memory; connections are given up in the middle and made anew. What a connection that is gone has sent must not
// show in the one that took its place, requests to a peer that is gone must end, and what lives must finish.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mrc.h"
#include "mrc_soft.h"
#include "swarm/swarm_world.h"
#include "swarm/virtual_hosts.h"

namespace mrc::swarm {

namespace {

constexpr uint8_t kBlank = 0xEE;
constexpr size_t kBuffer = 64 << 10, kMargin = 256;
constexpr size_t kMaxOld = 2;                                // connections of a pair that are broken, not closed
constexpr size_t kPlaces = (kMaxHosts - 1) * (kMaxOld + 1);  // for a source and a target, in a host's memory
constexpr uint32_t kMaxRecvWr = 64;
constexpr uint32_t kReceive = 1u << 31;  // in the lower half of a wr_id; the upper one has the connection
constexpr Duration kEndsWithin = Duration::seconds(20);  // requests to a peer that is gone; and all, after the faults

struct PostedWrite {
  uint32_t offset, length;
  bool imm, signaled;
};

// What a program has for one connection, and how far what it sends has come.
struct End {
  int host = 0;
  size_t place = 0;      // of the buffers in its host's memory
  mrc_qp* qp = nullptr;  // null: closed
  uint32_t qpn = 0, psn = 0;
  uint8_t *source = nullptr, *target = nullptr;
  ibv_mr *from = nullptr, *to = nullptr;
  std::vector<PostedWrite> messages;
  size_t posted = 0, done = 0;  // done: up to the last completion
  uint32_t slots = 0;
  uint32_t receives = 0, imms = 0;  // posted; completed
};

struct Connection {
  uint32_t serial = 0;
  std::array<End, 2> ends;
  bool broken = false;  // one end is gone, or going
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
  void connect(End* end, const End& peer);
  void draw_messages(Connection* c, int from);
  void crash(int host);
  void give_up(Pair* pair);
  void look_after(Pair* pair);
  void meddle();
  void post(Connection* c, int from);
  void post_receives(const Connection& c, End* end);
  void poll_cq(int host);
  void on_done(int host, const ibv_wc& wc);
  void on_sent(End* end, size_t index, ibv_wc_status status);
  void on_received(Connection* c, int to, uint32_t request, const ibv_wc& wc);
  void turn(Duration most);
  bool finished() const;
  bool pending(const End& end) const;
  void check_memory(const Connection& c, int from, bool complete);

  void fail(const std::string& what) {
    if (outcome_.ok) outcome_.failure = what;
    outcome_.ok = false;
  }
  void expect(bool holds, const char* what) {
    if (!holds) fail(what);
  }
  void break_up(Connection* c) {
    if (c->broken) return;
    for (int from : {0, 1}) check_memory(*c, from, false);
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
    at(host).memory.resize(2 * kBuffer * kPlaces);
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

void HostWorld::draw_messages(Connection* c, int from) {
  End& end = c->ends[static_cast<size_t>(from)];
  uint32_t offset = kMargin;
  const uint32_t count = rng_.below(30);
  for (uint32_t i = 0; i < count; ++i) {
    PostedWrite m{};
    m.length = rng_.chance(0.1) ? 0 : rng_.chance(0.5) ? 1 + rng_.below(200) : 1 + rng_.below(8000);
    if (offset + m.length + kMargin > kBuffer) break;
    m.offset = offset;
    m.imm = rng_.chance(0.4);
    m.signaled = rng_.chance(0.5);
    offset += m.length + rng_.below(20);
    end.messages.push_back(m);
  }
  if (!end.messages.empty()) end.messages.back().signaled = true;
}

void HostWorld::connect(Pair* pair) {
  pair->now = std::make_unique<Connection>();
  Connection& c = *pair->now;
  c.serial = ++serials_;
  by_serial_[c.serial] = &c;
  for (size_t i : {0, 1}) {
    End& end = c.ends[i];
    end.host = pair->hosts[i];
    Program& p = at(end.host);
    while (p.taken[end.place]) ++end.place;
    p.taken[end.place] = true;
    end.source = p.memory.data() + 2 * kBuffer * end.place;
    end.target = end.source + kBuffer;
    for (uint32_t k = 0; k < kBuffer; ++k)
      end.source[k] = static_cast<uint8_t>((k * 131 + (k >> 7) + c.serial * 17 + i * 5 + seed_) | 1);
    std::fill_n(end.target, kBuffer, kBlank);
    mrc_qp_init_attr init{};
    init.send_cq = init.recv_cq = p.cq;
    init.cap = cap_;
    init.pd = p.pd;
    end.qp = mrc_create_qp(p.context, &init);
    end.from = mrc_soft_reg_mr(p.pd, end.source, kBuffer, 0);
    end.to = mrc_soft_reg_mr(p.pd, end.target, kBuffer, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (end.qp == nullptr || end.from == nullptr || end.to == nullptr) return fail("no queue pair or no region");
    expect(mrc_get_qpn(end.qp, &end.qpn) == 0, "a queue pair has no number");
    end.psn = static_cast<uint32_t>(rng_.next()) & 0xFFFFFF;
    draw_messages(&c, static_cast<int>(i));
  }
  connect(&c.ends[0], c.ends[1]);
  connect(&c.ends[1], c.ends[0]);
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

bool HostWorld::pending(const End& end) const {
  return std::any_of(end.messages.begin() + static_cast<std::ptrdiff_t>(end.done),
                     end.messages.begin() + static_cast<std::ptrdiff_t>(end.posted),
                     [](const PostedWrite& m) { return m.signaled; });
}

// Closes what is left of broken connections, and makes the next one, perhaps while they last.
void HostWorld::look_after(Pair* pair) {
  if (pair->now != nullptr && pair->now->broken) pair->old.push_back(std::move(pair->now));
  for (const auto& c : pair->old)
    for (End& end : c->ends) {
      if (end.qp == nullptr) continue;
      if (c->waits && pending(end)) {
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

void HostWorld::post_receives(const Connection& c, End* end) {
  while (end->receives < end->imms + 1 + rng_.below(8)) {
    ibv_recv_wr wr{};
    wr.wr_id = static_cast<uint64_t>(c.serial) << 32 | kReceive | end->receives;
    ibv_recv_wr* bad;
    if (mrc_post_recv(end->qp, &wr, &bad) != 0) return expect(c.broken, "a receive request is refused");
    ++end->receives;
  }
}

void HostWorld::post(Connection* c, int from) {
  End& end = c->ends[static_cast<size_t>(from)];
  const End& peer = c->ends[static_cast<size_t>(1 - from)];
  if (end.qp == nullptr) return;
  post_receives(*c, &end);
  while (end.posted < end.messages.size() && end.slots < cap_.max_send_wr) {
    PostedWrite& m = end.messages[end.posted];
    // A program may not fill its queue with unsignalled requests.
    if (end.slots + 1 == cap_.max_send_wr) m.signaled = true;
    ibv_sge sge{reinterpret_cast<uint64_t>(end.source) + m.offset, m.length, end.from->lkey};
    ibv_send_wr wr{};
    wr.wr_id = static_cast<uint64_t>(c->serial) << 32 | end.posted;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = m.imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    wr.send_flags = m.signaled ? IBV_SEND_SIGNALED : 0;
    wr.imm_data = static_cast<uint32_t>(end.posted) ^ c->serial << 16;
    wr.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(peer.target) + m.offset;
    wr.wr.rdma.rkey = peer.to->rkey;
    ibv_send_wr* bad;
    if (mrc_post_send(end.qp, &wr, &bad) != 0) return expect(c->broken, "a request that fits is refused");
    ++end.posted;
    ++end.slots;
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
  const int side = c.ends[0].host == host ? 0 : 1;
  End& end = c.ends[static_cast<size_t>(side)];
  if (end.qp == nullptr || wc.qp_num != end.qpn) return fail("a completion of a queue pair that is destroyed");
  if (wc.status != IBV_WC_SUCCESS) {
    ++ended_;
    if (!c.broken) return fail(std::string("a completion says ") + std::to_string(wc.status));
  }
  const auto number = static_cast<uint32_t>(wc.wr_id);
  if ((number & kReceive) == 0) return on_sent(&end, number, wc.status);
  if (wc.status == IBV_WC_SUCCESS) on_received(&c, side, number & ~kReceive, wc);
}

void HostWorld::on_sent(End* end, size_t index, ibv_wc_status status) {
  size_t next = end->done;
  while (status == IBV_WC_SUCCESS && next < end->posted && !end->messages[next].signaled) ++next;
  if (status == IBV_WC_SUCCESS && next != index) return fail("send completions out of order or twice");
  if (index < end->done || index >= end->posted) return fail("a completion of what is not under way");
  end->slots -= static_cast<uint32_t>(index - end->done + 1);
  end->done = index + 1;
}

void HostWorld::on_received(Connection* c, int to, uint32_t request, const ibv_wc& wc) {
  End& end = c->ends[static_cast<size_t>(to)];
  const End& peer = c->ends[static_cast<size_t>(1 - to)];
  size_t seen = 0, k = 0;
  for (; k < peer.messages.size(); ++k)
    if (peer.messages[k].imm && seen++ == end.imms) break;
  if (k >= peer.posted) return fail("an immediate that was not sent");
  if (wc.imm_data != (static_cast<uint32_t>(k) ^ c->serial << 16)) return fail("immediates out of order");
  if (request != end.imms) return fail("a receive request out of order");
  if (wc.byte_len != peer.messages[k].length) return fail("the length of an immediate");
  for (size_t m = 0; m <= k && !c->broken; ++m)  // later the peer's memory may be another connection's
    if (std::memcmp(end.target + peer.messages[m].offset, peer.source + peer.messages[m].offset,
                    peer.messages[m].length) != 0)
      return fail("a receive completion before the data of message " + std::to_string(m));
  ++end.imms;
}

void HostWorld::check_memory(const Connection& c, int from, bool complete) {
  const End& end = c.ends[static_cast<size_t>(from)];
  const uint8_t* const target = c.ends[static_cast<size_t>(1 - from)].target;
  std::vector<bool> may(kBuffer, false);
  for (size_t m = 0; m < end.posted; ++m)
    std::fill_n(may.begin() + static_cast<std::ptrdiff_t>(end.messages[m].offset), end.messages[m].length, true);
  for (uint32_t i = 0; i < kBuffer; ++i) {
    if (target[i] == (may[i] ? end.source[i] : kBlank)) continue;
    if (!may[i]) return fail("byte " + std::to_string(i) + " outside every message was written");
    if (complete || target[i] != kBlank) return fail("byte " + std::to_string(i) + " is wrong");
  }
}

bool HostWorld::finished() const {
  for (const Pair& pair : pairs_) {
    if (pair.now == nullptr || pair.now->broken || !pair.old.empty()) return false;
    for (size_t i : {0, 1}) {
      const End& end = pair.now->ends[i];
      const auto imms =
          std::count_if(end.messages.begin(), end.messages.end(), [](const PostedWrite& m) { return m.imm; });
      if (end.done < end.messages.size() || pair.now->ends[1 - i].imms < imms) return false;
    }
  }
  return true;
}

void HostWorld::turn(Duration most) {
  for (int host = 0; host < count_; ++host)
    if (at(host).verbs == nullptr && hosts_->now() >= at(host).starts) {
      hosts_->restart(host);
      open(host);
    }
  for (Pair& pair : pairs_) {
    look_after(&pair);
    for (int from : {0, 1})
      if (pair.now != nullptr && rng_.chance(0.5)) post(pair.now.get(), from);
  }
  for (int host = 0; host < count_; ++host)
    if (at(host).verbs != nullptr) poll_cq(host);
  hosts_->step(most);
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
  hosts_->net().heal();
  const Instant limit = hosts_->now() + kEndsWithin * 2;
  while (outcome_.ok && !finished() && hosts_->now() < limit) turn(Duration::microseconds(100));
  if (outcome_.ok && !finished()) fail("not finished after the faults");
  for (const Pair& pair : pairs_)
    for (int from : {0, 1})
      if (outcome_.ok) check_memory(*pair.now, from, true);
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
