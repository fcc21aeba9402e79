// LoneEndpoint: one endpoint, one QP in RTS, and no peer: the test is the peer. It makes each packet by hand, sees each
// packet that leaves, and moves the clock. Two planes, four active EVs on each and a backup each; virtual time; what
// leaves is decoded and its ICRC checked.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/endpoint.h"
#include "harness/congestion_of.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace mrc::core {

inline constexpr Qpn kOwnQpn = Qpn(0x101), kPeerQpn = Qpn(0x202);

struct SentPacket {
  wire::Flow flow;
  PlaneId plane;
  EvIndex ev;
  uint32_t burst;  // packets of one burst have one number
  std::vector<uint8_t> bytes;
  wire::Packet p;  // points into `bytes`
  wire::Opcode op() const { return p.bth.opcode; }
};

class LoneEndpoint : public testing::Test, public Sink, public QpSink {
 protected:
  LoneEndpoint() : memory_(1 << 20, 0x11) {
    for (uint8_t plane = 0; plane < 2; ++plane) {
      config_.planes.push_back({own(plane), 4791});
      peer_.planes.push_back({theirs(plane), 4791});
    }
    for (uint32_t i = 0; i < 10; ++i) config_.evs.push_back({50000 + i, plane_at(i % 2)});
    config_.ev_active = 8;
    config_.compare_source_ports = false;  // no peer answers the query
    attr_.path_mtu = 256;
    attr_.sq_psn = Psn(0xFFFFFE);  // every test crosses the wrap
    attr_.rq_psn = Psn(0xFFFFFD);
    attr_.access = kAccessLocalWrite | kAccessRemoteWrite;
    attr_.dest_qpn = kPeerQpn;
  }
  static IpAddress own(uint8_t plane) { return IpAddress::v4(10, plane, 0, 1); }
  static IpAddress theirs(uint8_t plane) { return IpAddress::v4(10, plane, 0, 2); }

  void start() {
    endpoint_ = std::make_unique<Endpoint>(config_, this);
    attr_.peer = peer_id_ = endpoint_->intern_peer(peer_);
    key_ = endpoint_->memory().add(memory_.data(), base(), memory_.size(), 3, 1);
    qp_ = make_qp(kOwnQpn);
  }
  Qp* make_qp(Qpn qpn, QpState last = QpState::kRts) {
    Qp* qp = endpoint_->create_qp({this, qpn, 1, {64, 64, 2, 64}});
    EXPECT_NE(qp, nullptr);
    bring_up(qp, last);
    return qp;
  }
  void bring_up(Qp* qp, QpState last = QpState::kRts) {
    for (QpState s : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      EXPECT_TRUE(endpoint_->modify_qp(now_, qp, s, attr_));
      if (s == last) break;
    }
  }
  uint64_t base() const { return reinterpret_cast<uint64_t>(memory_.data()); }

  // --- time and what leaves ---
  bool send_burst(PlaneSet planes = PlaneSet::all()) {  // false: there is none
    if (!endpoint_->poll_tx(now_, &burst_, planes)) return false;
    take_burst();
    return true;
  }
  void drain(PlaneSet planes = PlaneSet::all()) {
    while (send_burst(planes)) {
    }
  }
  void pass(Duration time) {
    const Instant end = now_ + time;
    for (;;) {
      const Instant due = endpoint_->next_timeout();
      if (due > end) break;
      if (due > now_) now_ = due;
      endpoint_->handle_timeout(now_);
      drain();
    }
    now_ = end;
  }
  std::vector<const SentPacket*> sent(wire::Opcode op) const {
    std::vector<const SentPacket*> found;
    for (const auto& s : sent_)
      if (s->op() == op) found.push_back(s.get());
    return found;
  }
  std::vector<const SentPacket*> requests() const {
    std::vector<const SentPacket*> found;
    for (const auto& s : sent_)
      if (wire::is_request(s->op())) found.push_back(s.get());
    return found;
  }

  // --- what arrives ---
  wire::Flow inbound(uint8_t plane = 0, wire::Ecn ecn = wire::Ecn::kEct0, uint8_t dscp = 0) const {
    wire::Flow f;
    f.src = theirs(plane);
    f.dst = own(plane);
    f.src_port = static_cast<uint16_t>(60000 + plane);
    f.dst_port = 4791;
    f.traffic_class = static_cast<uint8_t>(dscp << 2 | static_cast<uint8_t>(ecn));
    return f;
  }
  void receive(const wire::Packet& p, const wire::Flow& flow, uint8_t plane = 0) {
    std::vector<uint8_t> bytes(wire::packet_bytes(p.bth.opcode, p.bth.ts, p.payload_len));
    wire::encode_packet(bytes, p);
    const auto n = static_cast<uint32_t>(bytes.size());
    wire::icrc_store(bytes.data() + n - wire::kIcrcBytes, wire::icrc_compute(flow, {bytes.data(), n}));
    receive_bytes(bytes, flow, plane);
  }
  void receive_bytes(const std::vector<uint8_t>& bytes, const wire::Flow& flow, uint8_t plane = 0) {
    const auto n = static_cast<uint32_t>(bytes.size());
    endpoint_->handle_rx(now_, {flow, PlaneId(plane), bytes.data(), n, n, pipe_, stream_});
  }
  wire::Packet packet(wire::Opcode op, Psn psn = Psn(0)) const {
    wire::Packet p;
    p.bth.opcode = op;
    p.bth.dqp = kOwnQpn;
    p.bth.psn = psn;
    return p;
  }
  wire::Packet datagram_packet(Qpn to, Qpn from, uint32_t qkey, uint32_t n) const {
    wire::Packet p = packet(wire::Opcode::kDatagram, Psn(5));
    p.bth.dqp = to;
    p.bth.pad = wire::pad_for(n);
    p.ud = {};
    p.ud.deth.qkey = qkey;
    p.ud.deth.src_qpn = from;
    p.payload = payload_;
    p.payload_len = n;
    return p;
  }
  // A message of one packet to memory_[offset]; `k` counts from rq_psn, every packet before it being a message, too.
  wire::Packet write_packet(int32_t k, uint32_t n = 64, uint64_t offset = 0) {
    wire::Packet p = packet(wire::Opcode::kWriteOnly, attr_.rq_psn + k);
    p.bth.pad = wire::pad_for(n);
    p.meth.msn = static_cast<uint16_t>(k);
    p.req.reth.va = base() + offset;
    p.req.reth.rkey = key_;
    p.req.reth.dmalen = n;
    p.payload = payload_;
    p.payload_len = n;
    return p;
  }
  wire::Packet imm_packet(int32_t k, uint16_t rqmsn, uint32_t n = 0) {
    wire::Packet p = write_packet(k, n);
    p.bth.opcode = wire::Opcode::kWriteOnlyImm;
    p.meth.rqmsn = rqmsn;
    p.req.imm.data = 0xA0B0C000u + rqmsn;
    return p;
  }
  void arrive(const wire::Packet& p, wire::Ecn ecn = wire::Ecn::kEct0) { receive(p, inbound(0, ecn)); }
  // A SACK: `cack` and `named` count from sq_psn, cack -1 being "nothing yet"; the bitmap begins at cack + 1.
  wire::Packet sack(int32_t cack, int32_t named, uint64_t above = 0) {
    wire::Packet p = packet(wire::Opcode::kSack, attr_.sq_psn + cack);
    wire::Seth seth;
    seth.cack_psn = p.bth.psn;
    seth.ack_psn_offset = static_cast<int16_t>(named - cack);
    seth.sack_offset = 1;
    seth.sack_bitmap = above;
    p.sack.seth = seth;
    p.sack.cc = wire::CcState();
    p.sack.cc.rcvd_bytes = rcvd_units_;
    return p;
  }
  wire::Packet ack(int32_t psn, uint8_t syndrome = wire::kSyndromeAck) {
    wire::Packet p = packet(wire::Opcode::kAck, attr_.sq_psn + psn);
    p.aeth = wire::Aeth();
    p.aeth.syndrome = syndrome;
    return p;
  }
  wire::Packet nack(int32_t psn, wire::NackReason reason) {
    wire::Packet p = packet(wire::Opcode::kNack, attr_.sq_psn + psn);
    p.neth = wire::Neth();
    p.neth.nack_psn = p.bth.psn;
    p.neth.reason = reason;
    return p;
  }
  wire::Packet probe(uint16_t id) {
    wire::Packet p = packet(wire::Opcode::kProbe);
    p.peth = wire::Peth();
    p.peth.probe_id = id;
    p.peth.timestamp.tx_timestamp = 1000;
    return p;
  }

  // --- what is posted ---
  PostResult post(uint64_t id, uint32_t n, SendOp op = SendOp::kWrite, bool signaled = true, Qp* qp = nullptr,
                  Key lkey = {}) {
    Sge sge{base(), n, lkey == Key() ? key_ : lkey};
    SendWr wr;
    wr.wr_id = id;
    wr.op = op;
    wr.signaled = signaled;
    wr.sges = &sge;
    wr.num_sge = 1;
    wr.remote_addr = 0x5000;
    wr.rkey = Key(77);
    wr.fence = fence_;
    return endpoint_->post_send(now_, qp == nullptr ? qp_ : qp, wr);
  }
  EvStatus ev(EvIndex index) const { return endpoint_->ev_status(peer_id_)[index]; }
  const Counters& counters() const { return endpoint_->counters(); }
  QpState state() const { return endpoint_->qp_state(qp_); }

  bool on_completion(const Completion& c) override {
    (c.is_recv ? receives_ : sends_).push_back(c);
    return completions_fit_;
  }
  void on_event(AsyncEvent e) override { events_.push_back(e); }
  uint32_t mailbox_answered() const override { return mailbox_answered_; }
  void on_port_event(PlaneId, AsyncEvent e) override { events_.push_back(e); }
  void on_endpoint_response(uint16_t id, PlaneId, Duration rtt) override { responses_.push_back({id, rtt}); }

  EndpointConfig config_;
  PeerDescription peer_;
  QpAttr attr_;
  std::vector<uint8_t> memory_;
  uint8_t payload_[4096] = {};
  std::unique_ptr<Endpoint> endpoint_;
  Qp* qp_ = nullptr;
  PeerId peer_id_ = kNoPeer;
  Key key_;
  uint32_t pipe_ = 0;    // that what is received comes from
  bool stream_ = false;  // see RxBurst
  Instant now_ = Instant::from_ns(50000000);
  TxBurst burst_;
  uint32_t bursts_ = 0;
  uint32_t rcvd_units_ = 0;
  bool fence_ = false;
  bool completions_fit_ = true;
  std::vector<std::unique_ptr<SentPacket>> sent_;
  std::vector<Completion> sends_, receives_;
  uint32_t mailbox_answered_ = 0;
  std::vector<AsyncEvent> events_;
  std::vector<std::pair<uint16_t, Duration>> responses_;

 private:
  void take_burst() {
    std::vector<uint8_t> all;
    for (uint32_t i = 0; i < burst_.iov_count; ++i) {
      const auto* b = static_cast<const uint8_t*>(burst_.iov[i].iov_base);
      all.insert(all.end(), b, b + burst_.iov[i].iov_len);
    }
    ++bursts_;
    for (size_t at = 0; at < all.size(); at += burst_.segment_size) {
      const size_t n = std::min<size_t>(burst_.segment_size, all.size() - at);
      const auto first = all.begin() + static_cast<ptrdiff_t>(at);
      auto s = std::make_unique<SentPacket>();
      s->flow = burst_.flow;
      s->plane = burst_.plane;
      s->ev = burst_.ev_index;
      s->burst = bursts_;
      s->bytes.assign(first, first + static_cast<ptrdiff_t>(n));
      const auto len = static_cast<uint32_t>(n);
      ASSERT_EQ(wire::decode(s->bytes, &s->p), wire::DecodeError::kOk);
      ASSERT_EQ(wire::icrc_load(s->bytes.data() + n - 4), wire::icrc_compute(s->flow, {s->bytes.data(), len}));
      sent_.push_back(std::move(s));
    }
  }
};

}  // namespace mrc::core
