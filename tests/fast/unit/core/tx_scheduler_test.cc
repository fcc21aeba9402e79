// The choice of the next packet: order between control packets, data and due answers; turns between QPs; planes with
// room.
// [MRC-TX-1]
#include <string>

#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class EndpointTxTest : public LoneEndpoint {};

TEST_F(EndpointTxTest, single_packets_then_answers_then_data) {
  start();
  Qp* sender = make_qp(Qpn(0x105));
  post(1, 8, SendOp::kWrite, true, sender);
  wire::Packet p = write_packet(0);
  p.bth.ack_req = true;
  arrive(p);
  receive(write_packet(1), inbound(0, wire::Ecn::kEct0, config_.dscp.trimmed));
  drain();
  ASSERT_GE(sent_.size(), 4u);
  EXPECT_EQ(sent_[0]->op(), wire::Opcode::kNack);
  EXPECT_EQ(sent_[1]->op(), wire::Opcode::kSack);
  EXPECT_EQ(sent_[2]->op(), wire::Opcode::kAck);
  EXPECT_EQ(sent_[3]->op(), wire::Opcode::kWriteOnly);
}

TEST_F(EndpointTxTest, qps_take_turns_burst_by_burst) {
  config_.max_segments = 2;
  start();
  attr_.dest_qpn = Qpn(0x303);
  Qp* other = make_qp(Qpn(0x105));
  post(1, 256 * 6);
  post(1, 256 * 6, SendOp::kWrite, true, other);
  drain();
  ASSERT_EQ(requests().size(), 12u);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(requests()[i]->p.bth.dqp, i / 2 % 2 == 0 ? kPeerQpn : Qpn(0x303)) << i;
}

TEST_F(EndpointTxTest, a_qp_without_a_path_does_not_delay_others) {
  start();
  peer_.planes[1].addr = IpAddress();  // another peer, on plane 0 alone
  peer_.planes[0].addr = IpAddress::v4(10, 0, 0, 7);
  attr_.peer = endpoint_->intern_peer(peer_);
  Qp* stuck = make_qp(Qpn(0x105));
  post(1, 8, SendOp::kWrite, true, stuck);
  post(2, 8);
  drain(2_planes);  // room on plane 1 only
  ASSERT_EQ(requests().size(), 1u);
  EXPECT_EQ(requests()[0]->flow.dst, theirs(1));
  drain(1_planes);
  ASSERT_EQ(requests().size(), 2u);
  EXPECT_EQ(requests()[1]->flow.dst, peer_.planes[0].addr);
}

TEST_F(EndpointTxTest, control_packets_wait_for_room_on_their_plane) {
  start();
  ASSERT_TRUE(endpoint_->start_endpoint_op(now_, peer_id_, 1_ev, 5, false, {}, Duration::seconds(1)));
  drain(1_planes);
  EXPECT_TRUE(sent_.empty());
  drain(2_planes);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0]->plane, 1_plane);
}

// [MRC-EV-1] [MRC-EV-2] [MRC-UDP-2] [MRC-CHOICE-Q3]: the label carries the upper half over IPv6 only.
TEST_F(EndpointTxTest, where_the_ev_goes) {
  for (EvEntry& e : config_.evs) e.value |= 0xABCD0000;
  start();
  post(1, 8);
  drain();
  EXPECT_EQ(requests()[0]->flow.flow_label, 0u);
  EXPECT_EQ(requests()[0]->flow.src_port, config_.evs[requests()[0]->ev].value & 0xFFFF);
  sent_.clear();
  for (uint8_t plane = 0; plane < 2; ++plane) {
    const std::string prefix = "fd00:" + std::to_string(plane) + "::";
    config_.planes[plane].addr = IpAddress::parse(prefix + "1").value();
    peer_.planes[plane].addr = IpAddress::parse(prefix + "2").value();
  }
  start();
  post(1, 8);
  drain();
  EXPECT_EQ(requests()[0]->flow.flow_label, 0xABCDu);
  EXPECT_EQ(wire::ev_of(requests()[0]->flow), config_.evs[requests()[0]->ev].value);
}

TEST_F(EndpointTxTest, a_down_plane_sends_nothing) {
  start();
  endpoint_->set_plane_up(now_, 0_plane, false);
  for (uint64_t i = 0; i < 20; ++i) post(i, 8);
  drain();
  for (const auto& s : sent_) EXPECT_EQ(s->plane, 1_plane);
  EXPECT_EQ(endpoint_->plane_counters(0_plane).tx_packets, 0u);
}

// Whatever a QP has to send, what it owes and what others owe leaves soon.
TEST_F(EndpointTxTest, owed_answers_are_not_starved_by_data) {
  attr_.congestion = congestion_of("none");
  config_.max_segments = 4;
  start();
  Qp* other = make_qp(Qpn(0x105));
  ASSERT_NE(other, nullptr);
  post(1, 256 * 400);
  for (const Qpn qpn : {kOwnQpn, Qpn(0x105)}) {
    wire::Packet p = write_packet(0);
    p.bth.dqp = qpn;
    p.bth.ack_req = true;
    arrive(p);
  }
  drain();
  ASSERT_EQ(sent(wire::Opcode::kSack).size(), 2u);
  EXPECT_LE(sent(wire::Opcode::kSack)[0]->burst, 6u);
  EXPECT_LE(sent(wire::Opcode::kSack)[1]->burst, 12u);
}

}  // namespace
}  // namespace mrc::core
