// The checks of received packets: each check has its own counter and no other effect. [MRC-RX-1] [MRC-WIRE-3]
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class EndpointRxTest : public LoneEndpoint {
 protected:
  std::vector<uint8_t> good(const wire::Flow& flow) {
    const wire::Packet p = write_packet(0);
    std::vector<uint8_t> bytes(wire::packet_bytes(p.bth.opcode, p.bth.ts, p.payload_len));
    wire::encode_packet(bytes, p);
    seal(&bytes, flow);
    return bytes;
  }
  static void seal(std::vector<uint8_t>* bytes, const wire::Flow& flow) {
    const auto n = static_cast<uint32_t>(bytes->size());
    wire::icrc_store(bytes->data() + n - 4, wire::icrc_compute(flow, {bytes->data(), n}));
  }
  uint64_t drops() const {
    const Counters& c = counters();
    return c.drop_decode + c.drop_icrc + c.drop_no_qp + c.drop_source + c.drop_state + c.drop_window + c.drop_stale;
  }
  void arrive_by(uint32_t pipe, const wire::Packet& p) {
    pipe_ = pipe;
    arrive(p);
  }
  void expect_silence() {
    drain();
    EXPECT_TRUE(sent_.empty());
    EXPECT_EQ(counters().rx_data, 0u);
    EXPECT_EQ(drops(), 1u);
  }
};

// [MRC-WIRE-2]
TEST_F(EndpointRxTest, cut_short) {
  start();
  auto bytes = good(inbound());
  bytes.resize(30);
  receive_bytes(bytes, inbound());
  EXPECT_EQ(counters().drop_decode, 1u);
  expect_silence();
}

TEST_F(EndpointRxTest, wrong_icrc_unless_it_is_off) {
  start();
  auto bytes = good(inbound());
  bytes.back() ^= 1;
  receive_bytes(bytes, inbound());
  EXPECT_EQ(counters().drop_icrc, 1u);
  expect_silence();
  config_.icrc = false;
  start();
  receive_bytes(good(inbound()), inbound());
  bytes = good(inbound());
  bytes.back() ^= 1;
  receive_bytes(bytes, inbound());
  EXPECT_EQ(counters().drop_icrc, 0u);
}

TEST_F(EndpointRxTest, unknown_qpn) {
  start();
  wire::Packet p = write_packet(0);
  p.bth.dqp = Qpn(kOwnQpn.value() + 0x10000);  // the same place in the table, another number
  arrive(p);
  EXPECT_EQ(counters().drop_no_qp, 1u);
  expect_silence();
}

TEST_F(EndpointRxTest, address_that_is_not_the_peers) {
  start();
  wire::Flow flow = inbound();
  flow.src = IpAddress::v4(10, 0, 0, 3);
  receive(write_packet(0), flow);
  EXPECT_EQ(counters().drop_source, 1u);
  expect_silence();
}

// While shared memory brings the peer's packets to a plane, those from the network are not the peer's [MRC-LOCAL-8].
TEST_F(EndpointRxTest, the_network_is_not_heard_beside_a_pipe) {
  start();
  arrive_by(0, write_packet(0));
  EXPECT_EQ(counters().rx_data, 1u) << "no pipe stands";
  arrive_by(7, write_packet(1));
  EXPECT_EQ(counters().rx_data, 2u);
  arrive_by(0, write_packet(2));
  EXPECT_EQ(counters().rx_data, 2u);
  EXPECT_EQ(counters().drop_beside_pipe, 1u);
  endpoint_->on_pipe_ended(6);
  arrive_by(0, write_packet(2));
  EXPECT_EQ(counters().drop_beside_pipe, 2u) << "another pipe has ended";
  arrive_by(8, write_packet(2));
  EXPECT_EQ(counters().rx_data, 3u) << "the peer has another pipe";
  endpoint_->on_pipe_ended(7);
  arrive_by(0, write_packet(3));
  EXPECT_EQ(counters().drop_beside_pipe, 3u) << "the latest still stands";
  endpoint_->on_pipe_ended(8);
  arrive_by(0, write_packet(3));
  EXPECT_EQ(counters().rx_data, 4u);
}

TEST_F(EndpointRxTest, a_pipe_of_an_unknown_source_changes_nothing) {
  start();
  wire::Flow flow = inbound();
  flow.src = IpAddress::v4(10, 0, 0, 3);
  pipe_ = 7;
  receive(write_packet(0), flow);
  EXPECT_EQ(counters().drop_source, 1u);
  arrive_by(0, write_packet(0));
  EXPECT_EQ(counters().rx_data, 1u);
}

// [MRC-BTH-8]: receivers do not compare the P_Key.
TEST_F(EndpointRxTest, another_p_key_is_taken) {
  start();
  wire::Packet p = write_packet(0);
  p.bth.pkey = 0x1234;
  arrive(p);
  EXPECT_EQ(counters().rx_data, 1u);
}

// [MRC-QP-4]: not set up yet, no word; in RTR requests are taken, answers are not.
TEST_F(EndpointRxTest, states_that_take_packets) {
  for (auto [last, requests_taken] : {std::pair{QpState::kInit, 0u}, {QpState::kRtr, 1u}, {QpState::kRts, 1u}}) {
    sent_.clear();
    start();
    endpoint_->destroy_qp(qp_);
    qp_ = make_qp(kOwnQpn, last);
    arrive(write_packet(0));
    EXPECT_EQ(counters().rx_data, requests_taken);
    EXPECT_EQ(counters().drop_state, 1u - requests_taken);
    arrive(ack(-1));
    EXPECT_EQ(counters().rx_acks, last == QpState::kRts ? 1u : 0u);
    drain();
    EXPECT_TRUE(sent_.empty());
  }
}

TEST_F(EndpointRxTest, a_burst_is_taken_apart) {
  start();
  auto both = good(inbound());
  const auto size = static_cast<uint32_t>(both.size());
  wire::Packet p = write_packet(1, 8);
  std::vector<uint8_t> second(wire::packet_bytes(p.bth.opcode, false, 8));
  wire::encode_packet(second, p);
  seal(&second, inbound());
  both.insert(both.end(), second.begin(), second.end());
  endpoint_->handle_rx(now_, {inbound(), 0_plane, both.data(), static_cast<uint32_t>(both.size()), size});
  EXPECT_EQ(counters().rx_data, 2u);
  EXPECT_EQ(counters().rx_packets, 2u);
  EXPECT_EQ(endpoint_->plane_counters(0_plane).rx_packets, 2u);
}

TEST_F(EndpointRxTest, bursts_without_size_or_plane_are_ignored) {
  start();
  const auto bytes = good(inbound());
  const auto n = static_cast<uint32_t>(bytes.size());
  endpoint_->handle_rx(now_, {inbound(), 0_plane, bytes.data(), n, 0});
  endpoint_->handle_rx(now_, {inbound(), 2_plane, bytes.data(), n, n});
  EXPECT_EQ(counters().rx_packets, 0u);
}

// [MRC-CHOICE-Q24]: cut packets have an effect only for a known QP, its peer, and PSNs inside the window.
TEST_F(EndpointRxTest, trimmed_packets_that_are_not_answered) {
  attr_.mpr_dest = 1;
  start();
  const auto cut = [&] { return inbound(0, wire::Ecn::kEct0, config_.dscp.trimmed); };
  receive(write_packet(128), cut());
  wire::Packet p = write_packet(0);
  p.bth.dqp = Qpn(0x999);
  receive(p, cut());
  wire::Flow foreign = cut();
  foreign.src = IpAddress::v4(10, 0, 0, 9);
  receive(write_packet(0), foreign);
  receive(probe(1), cut());
  drain();
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(counters().rx_trimmed, 4u);
  receive(write_packet(127), cut());
  drain();
  EXPECT_EQ(sent(wire::Opcode::kNack).size(), 1u);
}

TEST_F(EndpointRxTest, trimmed_packets_that_cannot_be_decoded_are_counted) {
  start();
  const std::vector<uint8_t> bytes(8);
  const auto n = static_cast<uint32_t>(bytes.size());
  endpoint_->handle_rx(now_, {inbound(0, wire::Ecn::kEct0, config_.dscp.trimmed), 0_plane, bytes.data(), n, n});
  EXPECT_EQ(counters().drop_decode, 1u);
  EXPECT_EQ(counters().rx_trimmed, 0u);
}

TEST_F(EndpointRxTest, ce_marks_are_counted_per_plane) {
  start();
  receive(write_packet(0), inbound(1, wire::Ecn::kCe), 1);
  EXPECT_EQ(endpoint_->plane_counters(1_plane).ecn_marks, 1u);
  EXPECT_EQ(endpoint_->plane_counters(0_plane).ecn_marks, 0u);
  EXPECT_EQ(counters().rx_ecn, 1u);
}

}  // namespace
}  // namespace mrc::core
