// One seed of the swarm with a forger: an attacker that sends from the peer's address with the QPN and, nearly or
// exactly, PSN and MSN of what is under way, but no memory key. Safety: at the end there is no message of which the
// sender saw success, the receiver's QP lives, and the bytes or the immediate are not the sender's. Liveness: when the
// forger has stopped, every QP has finished or failed within a bounded virtual time. [MRC-SEC-1..6]
//
// Where packets may be lost, messages have at least two packets: a forged message of one packet of which the network
// then loses the genuine one is the remaining case of spec/security.md.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "harness/fabric.h"
#include "swarm/swarm_world.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace mrc::swarm {

using namespace core;
using harness::Fabric;
using harness::FabricConfig;
using harness::Link;

namespace {

constexpr uint32_t kMtu = 256;
constexpr uint32_t kMailboxBytes = 4096;
constexpr uint64_t kMailboxId = 999999;

struct Write {
  uint64_t offset = 0;
  uint32_t length = 0;
  uint32_t first_packet = 0, packets = 1;
  bool imm = false, mailbox = false;
  bool done = false;      // success at the sender
  bool received = false;  // the immediate came
};

class ForgedWorld {
 public:
  explicit ForgedWorld(uint64_t seed) : rng_(seed ^ 0xF0F6E5) {}
  Outcome run();

 private:
  void build();
  void draw_messages();
  void post_some();
  void forge();
  uint32_t sent_until() const;
  bool on_send(const Completion& c);
  bool on_receive(const Completion& c);
  bool failed() { return state(0) == QpState::kError || state(1) == QpState::kError; }
  QpState state(int n) { return fabric_->at(n).qp_state(n == 0 ? link_.qa : link_.qb); }
  bool finished() const {
    for (const Write& m : messages_)
      if (!m.done || (m.imm && !m.received)) return false;
    return true;
  }
  void fail(const std::string& what) {
    if (outcome_.ok) outcome_.failure = what;
    outcome_.ok = false;
  }
  void judge();

  Rng rng_;
  Outcome outcome_;
  std::unique_ptr<Fabric> fabric_;
  Link link_;
  QpAttr attr_;
  std::vector<uint8_t> source_, target_, box_, box_source_;
  Key lkey_, box_lkey_, rkey_;
  std::vector<Write> messages_;
  size_t posted_ = 0, receives_ = 0;
  uint64_t next_receive_ = 0;
  bool loss_ = false;
  uint64_t forged_ = 0;
};

void ForgedWorld::build() {
  FabricConfig f;
  f.seed = rng_.next();
  f.planes = 1 + static_cast<int>(rng_.below(4));
  f.evs_per_plane = 1 + static_cast<int>(rng_.below(4));
  f.endpoint.max_segments = 1 + rng_.below(8);
  f.endpoint.congestion.line_rate_bps = 25e9 * f.planes;
  f.endpoint.congestion.base_rtt = Duration::microseconds(20);
  fabric_ = std::make_unique<Fabric>(f);
  loss_ = rng_.chance(0.4);
  for (int p = 0; p < f.planes; ++p) {
    simnet::LinkConfig& l = fabric_->net().link(p);
    l.latency = Duration::microseconds(1 + rng_.below(30));
    l.rate_bps = 1e9 * (5 + rng_.below(45));
    l.queue_bytes = 64 << 20;
    if (rng_.chance(0.5)) l.jitter = Duration::microseconds(1 + rng_.below(60));
    if (rng_.chance(0.3)) l.duplicate = rng_.unit() * 0.1;
    if (rng_.chance(0.5)) l.reorder = rng_.unit() * 0.3;
    if (loss_) l.loss = rng_.unit() * 0.05;
  }
  attr_.path_mtu = kMtu;
  attr_.mpr = attr_.mpr_dest = static_cast<uint8_t>(1 + rng_.below(4));
  attr_.timeout = 10;
  attr_.retry_linear = 4;
  attr_.retry_exp = 6;
  attr_.sq_psn = Psn(static_cast<uint32_t>(rng_.next()));
  attr_.rq_psn = Psn(static_cast<uint32_t>(rng_.next()));
  draw_messages();
  fabric_->node(0).on_done = [this](const Completion& c) { return on_send(c); };
  fabric_->node(1).on_done = [this](const Completion& c) { return on_receive(c); };
  link_.qa = fabric_->make_qp(0);
  link_.qb = fabric_->make_qp(1);
  fabric_->at(1).set_mailbox(link_.qb, {box_.data(), box_.size(), kMailboxId, true});
  const Qpn qpn[2] = {fabric_->at(0).qp_status(link_.qa).qpn, fabric_->at(1).qp_status(link_.qb).qpn};
  for (int n = 0; n < 2; ++n) {
    QpAttr a = attr_;
    a.peer = fabric_->peer(n, 1 - n);
    a.dest_qpn = qpn[1 - n];
    a.access = kAccessLocalWrite | kAccessRemoteWrite;
    if (n == 1) std::swap(a.sq_psn, a.rq_psn);
    for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts})
      if (!fabric_->to_state(n, n == 0 ? link_.qa : link_.qb, s, a)) fail("no connection");
  }
}

void ForgedWorld::draw_messages() {
  uint64_t offset = 0;
  uint32_t packets = 0;
  const uint32_t count = 3 + rng_.below(60);
  for (uint32_t i = 0; i < count; ++i) {
    Write m;
    m.length = loss_              ? kMtu + 1 + rng_.below(3000)
               : rng_.chance(0.3) ? 0
               : rng_.chance(0.5) ? 1 + rng_.below(kMtu)
                                  : 1 + rng_.below(4000);
    m.imm = rng_.chance(0.5);
    m.mailbox = m.imm && rng_.chance(0.4) && m.length <= kMailboxBytes;
    m.offset = m.mailbox ? 0 : offset;
    if (!m.mailbox) offset += m.length;
    m.first_packet = packets;
    m.packets = std::max(1u, (m.length + kMtu - 1) / kMtu);
    packets += m.packets;
    messages_.push_back(m);
  }
  source_.resize(offset + 1);
  target_.resize(offset + 1);
  for (uint8_t& b : source_) b = static_cast<uint8_t>(1 + rng_.below(255));
  box_.resize(kMailboxBytes * count);
  box_source_.resize(kMailboxBytes * count);
  for (uint8_t& b : box_source_) b = static_cast<uint8_t>(1 + rng_.below(255));
  lkey_ = fabric_->register_memory(0, source_, kAccessLocalWrite);
  box_lkey_ = fabric_->register_memory(0, box_source_, kAccessLocalWrite);
  rkey_ = fabric_->register_memory(1, target_);
}

void ForgedWorld::post_some() {
  if (state(0) == QpState::kError) return;  // that the receiver failed is not known here, and is found out by sending
  while (receives_ < messages_.size() &&
         fabric_->at(1).post_recv(fabric_->now(), link_.qb, receives_) == PostResult::kOk)
    ++receives_;
  while (posted_ < messages_.size() && !rng_.chance(0.4)) {
    const Write& m = messages_[posted_];
    const uint8_t* from = m.mailbox ? &box_source_[posted_ * kMailboxBytes] : &source_[m.offset];
    Sge sge{reinterpret_cast<uint64_t>(from), m.length, m.mailbox ? box_lkey_ : lkey_};
    SendWr wr;
    wr.wr_id = posted_;
    wr.op = m.imm ? SendOp::kWriteImm : SendOp::kWrite;
    wr.signaled = true;
    wr.sges = &sge;
    wr.num_sge = 1;
    wr.remote_addr = m.mailbox ? posted_ * kMailboxBytes : reinterpret_cast<uint64_t>(&target_[m.offset]);
    wr.rkey = m.mailbox ? kMailboxKey : rkey_;
    wr.imm = static_cast<uint32_t>(posted_) * 7919;
    if (fabric_->at(0).post_send(fabric_->now(), link_.qa, wr) != PostResult::kOk) break;
    ++posted_;
  }
}

// Near what is under way: the forger sees the QPN and guesses the rest well.
void ForgedWorld::forge() {
  size_t near = 0;
  while (near < messages_.size() && messages_[near].done) ++near;
  near = std::min(messages_.size() - 1, near + rng_.below(12));
  near -= std::min<size_t>(near, rng_.below(8));
  const Write& m = messages_[near];
  wire::Packet p;
  static constexpr wire::Opcode kOps[] = {wire::Opcode::kWriteOnly,  wire::Opcode::kWriteOnlyImm,
                                          wire::Opcode::kWriteFirst, wire::Opcode::kWriteMiddle,
                                          wire::Opcode::kWriteLast,  wire::Opcode::kWriteLastImm};
  p.bth.opcode = kOps[rng_.chance(0.7) ? rng_.below(2) : rng_.below(6)];
  p.bth.dqp = fabric_->at(1).qp_status(link_.qb).qpn;
  uint32_t at = m.first_packet + (rng_.chance(0.5) ? 0 : rng_.below(m.packets));
  uint16_t msn = static_cast<uint16_t>(near);
  if (rng_.chance(0.3)) msn = static_cast<uint16_t>(msn + static_cast<int>(rng_.below(7)) - 3);
  if (rng_.chance(0.2)) at += rng_.below(7) - 3;
  p.bth.psn = attr_.sq_psn + static_cast<int32_t>(at);
  p.meth.msn = msn;
  uint16_t rqmsn = 0;
  for (size_t i = 0; i < near; ++i) rqmsn = static_cast<uint16_t>(rqmsn + messages_[i].imm);
  if (rng_.chance(0.1)) rqmsn = static_cast<uint16_t>(rqmsn + rng_.below(3));
  p.meth.rqmsn = rqmsn;
  p.req.imm.data = rng_.below(1000);
  std::vector<uint8_t> junk(kMtu, 0);
  const bool mailbox = rng_.chance(0.4);
  uint32_t n = 0;
  if (p.bth.opcode == wire::Opcode::kWriteOnly || p.bth.opcode == wire::Opcode::kWriteOnlyImm) {
    n = rng_.chance(0.5) ? 0 : mailbox && m.mailbox && m.length <= kMtu ? m.length : rng_.below(kMtu);
    p.req.reth.dmalen = n;
  } else {
    const uint32_t length = mailbox && m.mailbox && m.length > kMtu ? m.length : kMtu + 1 + rng_.below(3000);
    const uint32_t packets = (length + kMtu - 1) / kMtu;
    n = wire::is_last(p.bth.opcode) ? length - (packets - 1) * kMtu : kMtu;
    p.req.reth.dmalen = length;
  }
  p.req.reth.va = near * kMailboxBytes + (at - m.first_packet) * kMtu;
  p.req.reth.rkey = mailbox ? kMailboxKey : Key(static_cast<uint32_t>(rng_.next()) | 0x80000000u);
  p.payload = junk.data();
  p.payload_len = n;
  p.bth.pad = wire::pad_for(n);
  std::vector<uint8_t> bytes(wire::packet_bytes(p.bth.opcode, false, n));
  wire::encode_packet(bytes, p);
  const int plane = static_cast<int>(rng_.below(static_cast<uint32_t>(fabric_->config().planes)));
  wire::Flow flow;
  flow.src = fabric_->describe(0).planes[static_cast<size_t>(plane)].addr;
  flow.dst = fabric_->describe(1).planes[static_cast<size_t>(plane)].addr;
  flow.src_port = static_cast<uint16_t>(49152 + rng_.below(16));
  flow.dst_port = 4791;
  const auto length = static_cast<uint32_t>(bytes.size());
  wire::icrc_store(&bytes[length - wire::kIcrcBytes], wire::icrc_compute(flow, {bytes.data(), length}));
  fabric_->net().inject(fabric_->now(), 1, plane, flow, bytes);
  ++forged_;
}

bool ForgedWorld::on_send(const Completion& c) {
  if (c.is_recv) return true;
  if (c.wr_id >= messages_.size()) return fail("completion of nothing"), true;
  if (c.status == WcStatus::kSuccess) messages_[c.wr_id].done = true;
  return true;
}

bool ForgedWorld::on_receive(const Completion& c) {
  if (!c.is_recv || c.status != WcStatus::kSuccess) return true;
  while (next_receive_ < messages_.size() && !messages_[next_receive_].imm) ++next_receive_;
  if (next_receive_ == messages_.size()) return true;  // one too many: judge() finds the QP failed, or not
  Write& m = messages_[next_receive_++];
  m.received =
      c.imm == static_cast<uint32_t>(next_receive_ - 1) * 7919 && c.byte_len == m.length && c.mailbox == m.mailbox;
  const size_t place = (next_receive_ - 1) * kMailboxBytes;
  if (m.mailbox) m.received = m.received && std::memcmp(&box_[place], &box_source_[place], m.length) == 0;
  return true;
}

// Both ends live and the sender saw success: then the bytes and the immediates are the sender's.
void ForgedWorld::judge() {
  if (state(1) == QpState::kError) return;
  for (size_t i = 0; i < messages_.size(); ++i) {
    const Write& m = messages_[i];
    if (!m.done) continue;
    if (m.imm && !m.received) fail("message " + std::to_string(i) + ": success, and a wrong immediate");
    if (!m.mailbox && std::memcmp(&target_[m.offset], &source_[m.offset], m.length) != 0)
      fail("message " + std::to_string(i) + ": success, and wrong bytes");
  }
}

Outcome ForgedWorld::run() {
  build();
  char text[160];
  std::snprintf(text, sizeof text, "forger: planes %d messages %zu loss %d mpr %u segments %u",
                fabric_->config().planes, messages_.size(), loss_, attr_.mpr, fabric_->config().endpoint.max_segments);
  outcome_.summary = text;
  const uint32_t rate = 1 + rng_.below(12);
  const uint32_t begin = rng_.below(12);
  for (uint32_t round = 0; round < 2000 && !finished() && !failed(); ++round) {
    post_some();
    if (round >= begin && rng_.below(rate) == 0) forge();
    for (uint32_t i = rng_.below(4); i > 0; --i)
      if (!fabric_->step()) break;
  }
  fabric_->net().clear_faults();
  const Instant limit = fabric_->now() + Duration::seconds(60);
  while (!finished() && !(state(0) == QpState::kError) && fabric_->now() < limit) {
    post_some();
    if (!fabric_->step()) fabric_->run_for(Duration::milliseconds(1));
  }
  if (!finished() && state(0) != QpState::kError) {
    std::string open;
    for (size_t i = 0; i < messages_.size(); ++i) {
      const Write& m = messages_[i];
      if (!m.done || (m.imm && !m.received))
        open += " " + std::to_string(i) + (m.done ? " without its immediate" : " not sent") +
                (m.mailbox ? ", to the mailbox" : "");
    }
    fail("neither finished nor failed after 60 s:" + open);
  }
  fabric_->run_for(Duration::milliseconds(50));
  judge();
  std::snprintf(
      text, sizeof text, "; forged %llu misfits %llu contradictions %llu, %s", static_cast<unsigned long long>(forged_),
      static_cast<unsigned long long>(fabric_->at(1).counters().drop_misfit),
      static_cast<unsigned long long>(fabric_->at(1).counters().contradictions), failed() ? "failed" : "finished");
  outcome_.summary += text;
  outcome_.failed_qp = failed();
  return outcome_;
}

}  // namespace

Outcome run_forged_world(uint64_t seed) {
  return ForgedWorld(seed).run();
}

}  // namespace mrc::swarm
