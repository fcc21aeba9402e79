// Source ports that a peer has announced, and packets from others [MRC-EXT-8..11] [MRC-SEC-9].
#include <map>
#include <set>
#include <utility>

#include "scenario/pair.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace mrc::scenario {
namespace {

using wire::Opcode;

constexpr uint16_t kForeign = 1000;  // a port of none of the EVs

bool is_ports(const std::vector<uint8_t>& bytes, Opcode op) {
  return bytes.size() == 128 && bytes[0] == static_cast<uint8_t>(op);
}

// An attacker that sends from an address of a node's peer and knows everything but the source ports.
struct Forger {
  wire::Flow flow(uint16_t port, uint8_t plane = 0, int from = 1) const {
    wire::Flow f;
    f.src = p->fabric.describe(from).planes[plane].addr;
    f.dst = p->fabric.describe(1 - from).planes[plane].addr;
    f.src_port = port;
    f.dst_port = 4791;
    return f;
  }
  void send(std::vector<uint8_t> headers, const wire::Flow& flow, uint8_t plane = 0, int from = 1) const {
    headers.resize(headers.size() + wire::kIcrcBytes);
    const auto n = static_cast<uint32_t>(headers.size());
    wire::icrc_store(&headers[n - wire::kIcrcBytes], wire::icrc_compute(flow, {headers.data(), n}));
    p->fabric.net().inject(p->fabric.now(), 1 - from, plane, flow, headers);
    p->pass(Duration::microseconds(100));
  }
  wire::Bth bth(Psn psn = Psn(0), int from = 1) const {
    wire::Bth b;
    b.dqp = p->fabric.at(1 - from).qp_status(from == 1 ? p->link.qa : p->link.qb).qpn;
    b.psn = psn;
    return b;
  }
  std::vector<uint8_t> probe() const {
    std::vector<uint8_t> out(64);
    wire::Peth peth;
    out.resize(wire::encode_probe(out, bth(), peth));
    return out;
  }
  std::vector<uint8_t> nak(Psn psn) const {
    std::vector<uint8_t> out(64);
    wire::Aeth aeth;
    aeth.syndrome = 0x62;
    out.resize(wire::encode_ack(out, bth(psn), aeth));
    return out;
  }
  std::vector<uint8_t> nack(Psn psn) const {
    std::vector<uint8_t> out(64);
    wire::Neth neth;
    neth.reason = wire::NackReason::kUnexpEvent;
    neth.nack_psn = psn;
    out.resize(wire::encode_nack(out, bth(psn), neth));
    return out;
  }
  std::vector<uint8_t> sack(Psn psn) const {
    std::vector<uint8_t> out(64);
    wire::Seth seth;
    seth.cack_psn = psn;
    out.resize(wire::encode_sack(out, bth(psn), seth, wire::CcState()));
    return out;
  }
  // To node 1: a write of nothing, which needs no key.
  std::vector<uint8_t> empty_write(Psn psn) const {
    std::vector<uint8_t> out(64);
    out.resize(wire::encode_request_headers(out, Opcode::kWriteOnly, bth(psn, 0), wire::Meth(), nullptr, wire::Reth(),
                                            nullptr));
    return out;
  }
  Pair* p;
};

uint16_t own_port(int plane) {
  return static_cast<uint16_t>(49152 + plane);
}

// Another QP between the nodes; node 0 has the peer already.
Link another(Pair* p) {
  return p->fabric.connect(0, 1);
}

TEST(Ports, are_asked_for_when_a_qp_goes_to_rtr) {
  Pair p;
  p.pass(Duration::milliseconds(1));
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(p.counters(n).tx_port_requests, 4u);  // a part for each plane
    EXPECT_EQ(p.counters(n).rx_port_requests, 4u);
    EXPECT_EQ(p.counters(n).port_sets_learnt, 1u);
    EXPECT_EQ(p.counters(n).tx_plane_requests, 0u);
  }
  for (uint64_t i = 0; i < 16; ++i) ASSERT_EQ(p.write(i, i * 60000, 60000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(16));
  EXPECT_TRUE(p.all_ok(16));
  for (int n = 0; n < 2; ++n) EXPECT_EQ(p.counters(n).drop_source_port, 0u);
  p.pass(Duration::seconds(3));
  EXPECT_EQ(p.counters(0).tx_port_requests, 4u);  // an answered query is not repeated
  another(&p);
  p.pass(Duration::milliseconds(1));
  EXPECT_EQ(p.counters(0).port_sets_learnt, 2u);  // by a later QP it is
}

// [MRC-EXT-8]: no amplification, for any sender.
TEST(Ports, question_and_answer_have_one_size) {
  std::set<size_t> sizes;
  FabricConfig config;
  config.evs_per_plane = 60;  // two parts per plane
  Pair p(config);
  p.fabric.net().set_filter([&](int, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
    sizes.insert(bytes.size());
    return false;
  });
  p.pass(Duration::milliseconds(1));
  EXPECT_EQ(p.counters(0).tx_port_requests, 8u);
  EXPECT_EQ(p.counters(0).port_sets_learnt, 1u);
  EXPECT_EQ(sizes, std::set<size_t>{128});
}

// A write whose packets are lost: an attacker has the time until they are sent again.
void send_into_outage(Pair* p) {
  p->fabric.net().add_outage({-1, -1, p->fabric.now(), p->fabric.now() + Duration::milliseconds(1)});
  ASSERT_EQ(p->write(1, 0, 1000), PostResult::kOk);
  p->fabric.pump();
}

// Every kind of packet that a QP takes, each able to do harm from an announced port.
TEST(Ports, forgeries_from_another_port_move_nothing) {
  Pair p;
  p.pass(Duration::milliseconds(1));
  const Forger f{&p};
  send_into_outage(&p);
  const Psn first = QpAttr().sq_psn;
  uint64_t dropped = 0;
  for (const auto& forged : {f.nak(first), f.nack(first), f.sack(first), f.probe()}) {
    f.send(forged, f.flow(kForeign));
    EXPECT_EQ(p.counters(0).drop_source_port, ++dropped);
  }
  EXPECT_EQ(p.state(0), QpState::kRts);
  EXPECT_TRUE(p.sends().empty());
  EXPECT_EQ(p.counters(0).rx_probes + p.counters(0).rx_sacks + p.counters(0).rx_nacks + p.counters(0).rx_acks, 0u);
  f.send(f.empty_write(first), f.flow(kForeign, 0, 0), 0, 0);
  EXPECT_EQ(p.counters(1).drop_source_port, 1u);
  wire::Flow cut = f.flow(kForeign, 0, 0);
  cut.traffic_class = static_cast<uint8_t>(DscpConfig().trimmed << 2);
  f.send(f.empty_write(first), cut, 0, 0);
  EXPECT_EQ(p.counters(1).drop_source_port, 2u);
  EXPECT_EQ(p.counters(1).tx_nacks, 0u);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.all_ok(1));
  EXPECT_TRUE(p.arrived(0, 1000));
  EXPECT_EQ(p.counters(1).contradictions, 0u);
}

// The same from a port of the peer's EVs fails the QP: what the test above shows is the port's doing.
TEST(Ports, packets_from_an_announced_port_count) {
  Pair p;
  p.pass(Duration::milliseconds(1));
  const Forger f{&p};
  send_into_outage(&p);
  f.send(f.nak(QpAttr().sq_psn), f.flow(own_port(0)));
  EXPECT_EQ(p.state(0), QpState::kError);
}

// On that host another address' socket of the same number may belong to another process.
TEST(Ports, are_those_of_one_address) {
  Pair p;
  p.pass(Duration::milliseconds(1));
  const Forger f{&p};
  f.send(f.probe(), f.flow(own_port(1)));
  EXPECT_EQ(p.counters(0).drop_source_port, 1u);
  f.send(f.probe(), f.flow(own_port(1), 1), 1);
  f.send(f.probe(), f.flow(own_port(1), 1), 0);  // a genuine packet that arrived on another plane than its own
  EXPECT_EQ(p.counters(0).drop_source_port, 1u);
  EXPECT_EQ(p.counters(0).rx_probes, 2u);
}

// [MRC-SEC-9]: a peer that does not answer may be a NIC. It is asked for a while and never compared.
TEST(Ports, of_a_peer_that_never_answers_are_not_compared) {
  Pair p;
  const Forger f{&p};
  p.fabric.net().set_filter([](int, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
    return is_ports(bytes, Opcode::kPlaneRequest);
  });
  p.pass(Duration::seconds(20));
  EXPECT_EQ(p.counters(0).tx_port_requests, 12u);
  f.send(f.probe(), f.flow(kForeign));
  EXPECT_EQ(p.counters(0).drop_source_port, 0u);
  EXPECT_EQ(p.counters(0).rx_probes, 1u);
  p.pass(Duration::seconds(20));
  EXPECT_EQ(p.counters(0).tx_port_requests, 12u);
}

TEST(Ports, of_a_declared_nic_are_not_asked_for) {
  Fabric fabric{FabricConfig()};
  PeerDescription nic = fabric.describe(1);
  nic.nic = true;
  QpAttr attr;
  attr.peer = fabric.at(0).intern_peer(nic);
  attr.dest_qpn = Qpn(0x100);
  Qp* qp = fabric.make_qp(0);
  EXPECT_TRUE(fabric.to_state(0, qp, QpState::kInit, attr));
  EXPECT_TRUE(fabric.to_state(0, qp, QpState::kRtr, attr));
  fabric.run_for(Duration::seconds(1));
  EXPECT_EQ(fabric.at(0).counters().tx_port_requests, 0u);
}

TEST(Ports, lost_questions_and_answers_are_repeated) {
  Pair p;
  std::map<std::pair<int, uint8_t>, int> sent;
  p.fabric.net().set_filter([&](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
    return bytes.size() == 128 && ++sent[{node, bytes[0]}] % 3 != 0;
  });
  p.pass(Duration::seconds(20));
  for (int n = 0; n < 2; ++n) EXPECT_EQ(p.counters(n).port_sets_learnt, 1u);
}

// [MRC-EXT-9]: the end that came first may have given up.
TEST(Ports, a_question_of_the_peer_opens_ours_again) {
  Pair p;
  p.fabric.net().set_filter([](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
    return node == 0 && is_ports(bytes, Opcode::kPlaneRequest);
  });
  p.pass(Duration::seconds(20));
  EXPECT_EQ(p.counters(0).port_sets_learnt, 0u);
  EXPECT_EQ(p.counters(1).port_sets_learnt, 1u);
  p.fabric.net().clear_faults();
  QpAttr attr;
  attr.peer = p.fabric.peer(1, 0);
  attr.dest_qpn = Qpn(0x999);
  Qp* qp = p.fabric.make_qp(1);
  EXPECT_TRUE(p.fabric.to_state(1, qp, QpState::kInit, attr));
  EXPECT_TRUE(p.fabric.to_state(1, qp, QpState::kRtr, attr));
  p.pass(Duration::milliseconds(50));
  EXPECT_EQ(p.counters(0).port_sets_learnt, 1u);
}

// A process that comes back has other ports. No QP goes to RTR late enough to ask again: the packets themselves do it.
TEST(Ports, of_a_restarted_peer_are_learnt_from_its_first_packets) {
  Pair p;
  p.pass(Duration::milliseconds(500));
  p.fabric.restart(1, 30000);
  p.rkey = p.fabric.register_memory(1, p.target);
  const Link link = another(&p);
  const Instant begun = p.fabric.now();
  for (uint64_t i = 0; i < 4; ++i)
    ASSERT_EQ(p.fabric.write(0, link.qa, i, p.source.data(), 100000, p.lkey, p.target.data(), p.rkey), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(4));
  EXPECT_TRUE(p.all_ok(4));
  EXPECT_LT(p.fabric.now() - begun, Duration::milliseconds(200));
  EXPECT_GE(p.counters(0).drop_source_port, 1u);
  EXPECT_EQ(p.counters(0).port_sets_learnt, 2u);
  EXPECT_EQ(p.counters(0).qp_errors, 0u);
  const Forger f{&p};
  const uint64_t before = p.counters(0).drop_source_port;
  f.send(f.probe(), f.flow(own_port(0)));  // the old process' port is free now
  EXPECT_EQ(p.counters(0).drop_source_port, before + 1);
}

// Losing the answers does not let a forger in, and does not end the query.
TEST(Ports, the_old_set_holds_until_there_is_a_new_one) {
  Pair p;
  p.pass(Duration::milliseconds(500));
  p.fabric.restart(1, 30000);
  p.rkey = p.fabric.register_memory(1, p.target);
  p.fabric.net().set_filter([](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
    return node == 1 && is_ports(bytes, Opcode::kPlaneResponse);
  });
  const Link link = another(&p);
  ASSERT_EQ(p.fabric.write(0, link.qa, 1, p.source.data(), 1000, p.lkey, p.target.data(), p.rkey), PostResult::kOk);
  const Forger f{&p};
  p.pass(Duration::seconds(20));
  const uint64_t dropped = p.counters(0).drop_source_port;
  f.send(f.probe(), f.flow(kForeign));
  EXPECT_EQ(p.counters(0).drop_source_port, dropped + 1);
  EXPECT_TRUE(p.sends().empty());
  EXPECT_EQ(p.counters(0).port_sets_learnt, 1u);
  p.fabric.net().clear_faults();
  ASSERT_TRUE(p.until_sends(1, Duration::seconds(10)));
  EXPECT_TRUE(p.all_ok(1));
}

// It ends with the last QP to the peer, and is asked again by the next one, however soon.
TEST(Ports, an_interrupted_question_is_asked_again) {
  Pair p;
  p.fabric.net().set_filter([](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
    return node == 1 && is_ports(bytes, Opcode::kPlaneRequest);
  });
  ASSERT_EQ(p.write(1, 0, 1000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  p.fabric.at(1).destroy_qp(p.link.qb);
  p.pass(Duration::milliseconds(100));
  EXPECT_EQ(p.counters(1).port_sets_learnt, 0u);
  p.fabric.net().clear_faults();
  another(&p);
  p.pass(Duration::milliseconds(10));
  EXPECT_EQ(p.counters(1).port_sets_learnt, 1u);
}

// A server outlives its clients, which follow each other within a second: the ports of one are not held against the
// next.
TEST(Ports, of_the_next_process_at_an_address_are_not_compared_with_those_of_the_last) {
  Pair p;
  std::vector<uint8_t> from(200000, 7), to(200000);
  const Key key = p.fabric.register_memory(0, to);
  Key lkey = p.fabric.register_memory(1, from);
  p.pass(Duration::milliseconds(1));
  ASSERT_EQ(p.fabric.write(1, p.link.qb, 1, from.data(), 1000, lkey, to.data(), key), PostResult::kOk);
  p.pass(Duration::milliseconds(1));
  p.fabric.at(0).destroy_qp(p.link.qa);
  p.pass(Duration::milliseconds(100));
  p.fabric.restart(1, 30000);
  lkey = p.fabric.register_memory(1, from);
  const Link link = another(&p);
  ASSERT_EQ(p.fabric.write(1, link.qb, 2, from.data(), 200000, lkey, to.data(), key), PostResult::kOk);
  p.pass(Duration::milliseconds(10));
  EXPECT_EQ(to, from);
  EXPECT_EQ(p.counters(0).drop_source_port, 0u);
  EXPECT_EQ(p.counters(1).retransmits, 0u);
  EXPECT_EQ(p.counters(0).port_sets_learnt, 2u);
  p.link = link;
  const Forger f{&p};
  f.send(f.probe(), f.flow(kForeign));
  EXPECT_EQ(p.counters(0).drop_source_port, 1u);
}

// However many forgeries come, the peer is asked at most ten times per second.
TEST(Ports, forgeries_do_not_make_us_ask_often) {
  Pair p;
  p.pass(Duration::milliseconds(500));
  const Forger f{&p};
  const uint64_t before = p.counters(0).tx_port_requests;
  for (int i = 0; i < 10000; ++i) f.send(f.probe(), f.flow(kForeign));  // one second
  EXPECT_EQ(p.counters(0).drop_source_port, 10000u);
  EXPECT_GE(p.counters(0).tx_port_requests - before, 4u);
  EXPECT_LE(p.counters(0).tx_port_requests - before, 44u);
  EXPECT_EQ(p.counters(0).rx_probes, 0u);
}

// [MRC-SEC-11]: another user of the peer's host cannot make the peer's own requests go unanswered.
TEST(Ports, forgeries_do_not_use_up_the_peers_answers) {
  Pair p;
  p.pass(Duration::milliseconds(500));
  const Forger f{&p};
  std::vector<uint8_t> request(64);
  wire::Bth bth;
  bth.dqp = wire::kEndpointQpn;
  wire::Erth erth;
  erth.op = wire::EndpointOp::kEvProbe;
  request.resize(wire::encode_endpoint_request(request, bth, erth));
  request.resize(request.size() + wire::kIcrcBytes);
  const auto flood = [&] {
    const wire::Flow flow = f.flow(kForeign);
    const auto n = static_cast<uint32_t>(request.size());
    wire::icrc_store(&request[n - wire::kIcrcBytes], wire::icrc_compute(flow, {request.data(), n}));
    for (int i = 0; i < 8000; ++i) p.fabric.net().inject(p.fabric.now(), 0, 0, flow, request);
    p.pass(Duration::milliseconds(1));
  };
  flood();
  EXPECT_GT(p.counters(0).drop_replies, 0u);
  const uint64_t answered = p.counters(0).rx_ev_probes;
  for (uint16_t id = 1; id <= 16; ++id)
    ASSERT_TRUE(p.fabric.at(1).start_endpoint_op(p.fabric.now(), p.fabric.peer(1, 0), 0_ev, id, false, {},
                                                 Duration::milliseconds(50)));
  p.pass(Duration::milliseconds(1));
  EXPECT_EQ(p.counters(0).rx_ev_probes, answered + 16);
}

// [MRC-EXT-10]: what a spoofer who does not see the query can send.
TEST(Ports, an_announcement_needs_the_nonce_and_the_peers_address) {
  Pair p;
  uint64_t nonce = 0;
  p.fabric.net().set_filter([&](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) {
    if (!is_ports(bytes, Opcode::kPlaneRequest)) return false;
    if (node == 0) nonce = wire::header_at<wire::Plth>(bytes, wire::Bth::kSize).nonce;
    return true;
  });
  p.pass(Duration::milliseconds(1));
  const Forger f{&p};
  wire::Plth plth;
  plth.planes = 1;
  plth.nonce = nonce;
  wire::Spth spth;
  spth.total = 1;
  spth.ports[0] = kForeign;
  const auto announce = [&](const wire::Flow& flow) {
    std::vector<uint8_t> out(128);
    wire::Bth bth;
    bth.dqp = wire::kEndpointQpn;
    out.resize(wire::encode_plane_response(out, bth, plth, &spth));
    f.send(out, flow);
  };
  plth.nonce = nonce ^ 1;
  announce(f.flow(kForeign));
  plth.nonce = nonce;
  plth.version = 2;
  announce(f.flow(kForeign));
  plth.version = wire::Plth::kVersion;
  wire::Flow foreign = f.flow(kForeign);
  foreign.src = IpAddress::v4(10, 0, 0, 77);
  announce(foreign);
  spth.total = 0;
  announce(f.flow(kForeign));
  EXPECT_EQ(p.counters(0).drop_stale, 4u);
  EXPECT_EQ(p.counters(0).port_sets_learnt, 0u);
  spth.total = 1;
  announce(f.flow(kForeign));
  EXPECT_EQ(p.counters(0).port_sets_learnt, 1u);
  announce(f.flow(kForeign));  // once only
  EXPECT_EQ(p.counters(0).drop_stale, 5u);
}

// [MRC-RSP-11]: records of destroyed QPs as well.
TEST(Ports, are_compared_for_destroyed_qps) {
  Pair p;
  p.pass(Duration::milliseconds(1));
  ASSERT_EQ(p.write(1, 0, 1000), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(1));
  const Forger f{&p};
  const std::vector<uint8_t> again = f.empty_write(QpAttr().sq_psn);
  p.fabric.at(1).destroy_qp(p.link.qb);
  p.pass(Duration::milliseconds(1));
  const uint64_t acks = p.counters(1).tx_acks;
  f.send(again, f.flow(kForeign, 0, 0), 0, 0);
  EXPECT_EQ(p.counters(1).tx_acks, acks);
  f.send(again, f.flow(own_port(0), 0, 0), 0, 0);
  EXPECT_EQ(p.counters(1).tx_acks, acks + 1);
}

}  // namespace
}  // namespace mrc::scenario
