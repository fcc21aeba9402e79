// Packets that no honest peer sends, well formed and with a right ICRC: none may move a queue pair.
#include "scenario/pair.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace mrc::scenario {
namespace {

wire::Flow flow_to(const Pair& p, int node, const IpAddress& from) {
  const PeerDescription d = p.fabric.describe(node);
  wire::Flow flow;
  flow.src = from;
  flow.dst = d.planes[0].addr;
  flow.src_port = 50000;
  flow.dst_port = d.planes[0].port;
  return flow;
}

void inject(Pair* p, int node, const wire::Flow& flow, std::vector<uint8_t> headers) {
  headers.resize(headers.size() + wire::kIcrcBytes);
  const auto n = static_cast<uint32_t>(headers.size());
  wire::icrc_store(&headers[n - wire::kIcrcBytes], wire::icrc_compute(flow, {headers.data(), n}));
  p->fabric.net().inject(p->fabric.now(), node, 0, flow, headers);
  p->pass(Duration::milliseconds(1));
}

std::vector<uint8_t> nack(Pair& p, Psn psn) {
  std::vector<uint8_t> out(64);
  wire::Bth bth;
  bth.opcode = wire::Opcode::kNack;
  bth.dqp = p.fabric.at(0).qp_status(p.link.qa).qpn;
  wire::Neth neth;
  neth.reason = wire::NackReason::kUnexpEvent;
  neth.nack_psn = psn;
  out.resize(wire::encode_nack(out, bth, neth));
  return out;
}

// [MRC-RX-1]: an attacker that guesses QPN and PSN cannot end a connection; the peer itself can.
TEST(Hostile, only_addresses_of_the_peer_are_heard) {
  Pair p;
  p.fabric.net().add_outage({-1, -1, p.fabric.now(), p.fabric.now() + Duration::milliseconds(3)});
  ASSERT_EQ(p.write(1, 0, 1000), PostResult::kOk);
  p.fabric.pump();
  const IpAddress foreign = IpAddress::parse("2001:db8::bad").value();
  const Psn first = QpAttr().sq_psn;
  inject(&p, 0, flow_to(p, 0, foreign), nack(p, first));
  EXPECT_EQ(p.counters(0).drop_source, 1u);
  EXPECT_EQ(p.state(0), QpState::kRts);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.all_ok(1));
}

std::vector<uint8_t> sack_all(Pair& p) {
  std::vector<uint8_t> out(64);
  wire::Bth bth;
  bth.opcode = wire::Opcode::kSack;
  bth.dqp = p.fabric.at(0).qp_status(p.link.qa).qpn;
  wire::Seth seth;
  seth.cack_psn = QpAttr().sq_psn + 4;
  out.resize(wire::encode_sack(out, bth, seth, wire::CcState()));
  return out;
}

// Packets 0 to 4 are sent; the first of them is lost, and `forged` acknowledges all.
void lose_first_and_inject(Pair* p, std::vector<uint8_t> (*forged)(Pair&)) {
  p->fabric.net().set_filter(
      [lost = false](int node, int, const wire::Flow&, const std::vector<uint8_t>& bytes) mutable {
        wire::Packet packet;
        const bool first = node == 0 && !lost && wire::decode(bytes, &packet) == wire::DecodeError::kOk &&
                           packet.bth.psn == QpAttr().sq_psn;
        lost = lost || first;
        return first;
      });
  ASSERT_EQ(p->write(1, 0, 5 * 4096), PostResult::kOk);
  p->fabric.pump();
  if (forged != nullptr) inject(p, 0, flow_to(*p, 0, p->fabric.describe(1).planes[0].addr), forged(*p));
}

// [MRC-SEC-13]: a forged SACK of a lost packet would let its sender and the responder wait for each other without end.
TEST(Hostile, forged_sack_of_a_lost_packet_fails_the_qp) {
  Pair p(without_queries());
  lose_first_and_inject(&p, sack_all);
  EXPECT_TRUE(p.fabric.run_until([&] { return p.state(0) == QpState::kError; }, Duration::seconds(1)));
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_EQ(p.sends()[0].status, WcStatus::kRemoteOperation);
  EXPECT_EQ(p.counters(0).contradictions, 1u);
}
// The cumulative acknowledgement stays below a WriteIMM that waits for a receive work request; the bitmap names it.
TEST(Hostile, probes_of_a_waiting_write_imm_are_no_contradiction) {
  Pair p(without_queries());
  SendWr wr;
  wr.op = SendOp::kWriteImm;
  wr.signaled = true;
  wr.wr_id = 1;
  ASSERT_EQ(p.fabric.at(0).post_send(p.fabric.now(), p.link.qa, wr), PostResult::kOk);
  EXPECT_TRUE(p.fabric.run_until([&] { return p.counters(1).rx_probes >= 3; }, Duration::seconds(1)));
  EXPECT_EQ(p.counters(0).contradictions, 0u);
  p.fabric.post_receives(1, p.link.qb, 70, 1);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.all_ok(1));
}
TEST(Hostile, lost_packet_without_a_forged_sack_is_retransmitted) {
  Pair p(without_queries());
  lose_first_and_inject(&p, nullptr);
  ASSERT_TRUE(p.until_sends(1));
  EXPECT_TRUE(p.all_ok(1));
  EXPECT_EQ(p.counters(0).contradictions, 0u);
}

// [MRC-BTH-8]: the P_Key of a packet is not compared.
TEST(Hostile, foreign_p_keys_are_accepted) {
  QpAttr attr;
  attr.pkey = 0x8001;
  Pair p({}, attr);
  QpAttr other;
  other.pkey = 0xFFFF;
  const Link mixed = p.fabric.connect(0, 1, other);
  ASSERT_EQ(p.write(1, 0, 20000), PostResult::kOk);
  ASSERT_EQ(p.fabric.write(0, mixed.qa, 2, &p.source[20000], 20000, p.lkey, &p.target[20000], p.rkey), PostResult::kOk);
  ASSERT_TRUE(p.until_sends(2));
  EXPECT_TRUE(p.arrived(0, 40000));
}

// [MRC-EVP-2]: of the four that the field can hold, operations 0 and 1 are answered.
TEST(Hostile, unknown_endpoint_operations_get_no_answer) {
  Pair p(without_queries());
  const IpAddress from = p.fabric.describe(1).planes[0].addr;
  for (int op = 0; op < 4; ++op) {
    std::vector<uint8_t> out(64);
    wire::Bth bth;
    bth.opcode = wire::Opcode::kEndpointRequest;
    bth.dqp = wire::kEndpointQpn;
    bth.psn = Psn(static_cast<uint32_t>(op));
    wire::Erth erth;
    erth.op = static_cast<wire::EndpointOp>(op);
    erth.port_status_mask = 0xF;
    out.resize(wire::encode_endpoint_request(out, bth, erth));
    const uint64_t before = p.counters(0).tx_packets;
    inject(&p, 0, flow_to(p, 0, from), out);
    EXPECT_EQ(p.counters(0).tx_packets - before, op <= 1 ? 1u : 0u) << op;
  }
}

}  // namespace
}  // namespace mrc::scenario
