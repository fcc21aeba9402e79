// Forged request packets: from the peer's address, well formed, with a correct ICRC, by an attacker with the QPN, the
// neighbourhood of the PSN, and no key. [MRC-SEC-*, spec/security.md]
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class ResponderForgedTest : public LoneEndpoint {
 protected:
  ResponderForgedTest() { std::fill(std::begin(payload_), std::end(payload_), uint8_t{0x77}); }
  // Packet k of a message of `packets` packets that begins at packet `first`, at memory_[first * mtu].
  wire::Packet part(uint16_t msn, int32_t first, uint32_t packets, uint32_t k) {
    wire::Packet p = write_packet(first + static_cast<int32_t>(k), attr_.path_mtu,
                                  static_cast<uint64_t>(first) * attr_.path_mtu + k * attr_.path_mtu);
    p.meth.msn = msn;
    p.req.reth.dmalen = packets * attr_.path_mtu;
    p.bth.opcode = packets == 1       ? wire::Opcode::kWriteOnly
                   : k == 0           ? wire::Opcode::kWriteFirst
                   : k + 1 == packets ? wire::Opcode::kWriteLast
                                      : wire::Opcode::kWriteMiddle;
    return p;
  }
  // A write of nothing, which needs no key.
  wire::Packet nothing(int32_t k, uint16_t msn, bool imm = false) {
    wire::Packet p = imm ? imm_packet(k, 0) : write_packet(k, 0);
    p.meth.msn = msn;
    p.req.reth.va = 0;
    p.req.reth.rkey = Key(0x1234);
    return p;
  }
  bool landed(int32_t k) const {
    const auto at = memory_.begin() + static_cast<ptrdiff_t>(k) * 256;
    return std::all_of(at, at + 256, [](uint8_t b) { return b == 0x77; });
  }
  uint8_t verdict() {
    drain();
    pass(config_.ack_delay * 2);
    const auto acks = sent(wire::Opcode::kAck);
    return acks.empty() ? 0 : acks.back()->p.aeth.syndrome;
  }
  void expect_contradiction() {
    EXPECT_EQ(state(), QpState::kError);
    EXPECT_EQ(counters().contradictions, 1u);
    ASSERT_FALSE(events_.empty());
    EXPECT_EQ(events_.back(), AsyncEvent::kQpContradicted);
    EXPECT_EQ(verdict(), wire::kSyndromeRemoteOperation);
  }
};

// [MRC-SEC-2]
TEST_F(ResponderForgedTest, a_packet_in_the_midst_of_a_message_takes_no_psn) {
  start();
  arrive(part(0, 0, 4, 0));
  for (uint16_t msn : {0, 1, 2, 3, 65535}) arrive(nothing(1, msn));
  arrive(nothing(2, 0, true));
  EXPECT_EQ(counters().drop_misfit, 6u);
  EXPECT_EQ(counters().rx_data, 1u);
  for (uint32_t k = 1; k < 4; ++k) arrive(part(0, 0, 4, k));
  for (int32_t k = 0; k < 4; ++k) EXPECT_TRUE(landed(k));
  EXPECT_EQ(verdict(), wire::kSyndromeAck);
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + 3);
}

// [MRC-SEC-2] A malformed packet at the next PSN is the peer's mistake only if nothing of its message is known.
TEST_F(ResponderForgedTest, a_malformed_packet_of_a_known_message_is_dropped) {
  start();
  arrive(part(0, 0, 2, 1));
  wire::Packet bad = part(0, 0, 2, 0);
  bad.payload_len = 128;
  arrive(bad);
  EXPECT_EQ(counters().drop_misfit, 1u);
  EXPECT_EQ(state(), QpState::kRts);
  arrive(part(0, 0, 2, 0));
  EXPECT_EQ(verdict(), wire::kSyndromeAck);
}

// [MRC-SEC-3]
TEST_F(ResponderForgedTest, a_genuine_packet_that_finds_its_psn_taken_fails_the_qp) {
  for (int32_t at : {0, 1, 2}) {
    start();
    events_.clear();
    arrive(nothing(at, static_cast<uint16_t>(at)));
    for (uint32_t k = 0; k < 4 && state() == QpState::kRts; ++k) arrive(part(0, 0, 4, k));
    expect_contradiction();
  }
}

// In turn, acknowledged, and the peer's own packet comes later.
TEST_F(ResponderForgedTest, an_acknowledged_forgery_is_found_when_the_genuine_packet_comes) {
  start();
  arrive(write_packet(0));
  arrive(nothing(1, 1));
  arrive(write_packet(2, 64, 700));
  EXPECT_EQ(verdict(), wire::kSyndromeAck);
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + 2);
  arrive(write_packet(1, 64, 300));
  expect_contradiction();
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + 1);  // nothing from there on succeeds
}

// The genuine one needs no key either: a signal of zero bytes, as libraries send them.
TEST_F(ResponderForgedTest, signals_of_zero_bytes_are_compared_by_their_immediate) {
  start();
  for (int i = 0; i < 4; ++i) endpoint_->post_recv(now_, qp_, static_cast<uint64_t>(i));
  wire::Packet forged = imm_packet(0, 0);
  forged.req.imm.data = 666;
  arrive(forged);
  arrive(forged);
  EXPECT_EQ(state(), QpState::kRts);
  EXPECT_EQ(counters().rx_duplicates, 1u);
  arrive(imm_packet(0, 0));
  expect_contradiction();
}

TEST_F(ResponderForgedTest, the_first_packet_of_all_may_not_be_taken_by_the_other_start) {
  for (uint16_t start_msn : {0, 1}) {
    start();
    events_.clear();
    arrive(nothing(0, static_cast<uint16_t>(1 - start_msn)));
    arrive(nothing(0, start_msn, true));
    expect_contradiction();
  }
}

// [MRC-SEC-6]
TEST_F(ResponderForgedTest, writes_to_the_mailbox_are_compared_by_their_bytes) {
  std::vector<uint8_t> box(1024);
  auto to_box = [&](int32_t k, uint8_t fill) {
    wire::Packet p = write_packet(k, 256);
    p.req.reth.rkey = kMailboxKey;
    p.req.reth.va = 256;
    std::fill(std::begin(payload_), std::end(payload_), fill);
    return p;
  };
  for (bool in_turn : {true, false}) {
    start();
    events_.clear();
    endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_);
    endpoint_->set_mailbox(qp_, {box.data(), box.size(), 5, true});
    bring_up(qp_);
    const int32_t at = in_turn ? 0 : 1;
    arrive(to_box(at, 1));
    arrive(to_box(at, 1));
    EXPECT_EQ(state(), QpState::kRts);
    arrive(to_box(at, 2));
    expect_contradiction();
    EXPECT_EQ(box[256], 1);
  }
}

// [MRC-SEC-2]: a packet without a key never outweighs one proven by a key.
TEST_F(ResponderForgedTest, a_forged_duplicate_does_not_fail_the_qp) {
  start();
  arrive(write_packet(0));
  arrive(write_packet(2, 64, 128));
  for (int32_t k : {0, 2})
    for (uint16_t msn : {0, 1, 2, 3}) {
      arrive(nothing(k, msn));
      arrive(nothing(k, msn, true));
      wire::Packet p = write_packet(k, 256, 4096);
      p.meth.msn = msn;
      p.req.reth.rkey = Key(0xBAD);
      arrive(p);
    }
  EXPECT_EQ(state(), QpState::kRts);
  EXPECT_EQ(counters().contradictions, 0u);
  arrive(write_packet(1, 64, 64));
  EXPECT_EQ(verdict(), wire::kSyndromeAck);
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + 2);
}

// [MRC-SEC-4]
TEST_F(ResponderForgedTest, a_wrong_key_fails_the_qp_only_from_the_next_message) {
  start();
  arrive(part(0, 0, 4, 0));
  auto wrong = [&](int32_t k, uint16_t msn) {
    wire::Packet p = write_packet(k, 256);
    p.meth.msn = msn;
    p.req.reth.rkey = Key(0xBAD);
    return p;
  };
  for (int32_t k = 0; k < 100; ++k)
    for (uint16_t msn = 0; msn < 4; ++msn) arrive(wrong(k, msn));
  for (uint32_t k = 1; k < 4; ++k) arrive(part(0, 0, 4, k));
  for (uint16_t msn : {0, 2, 3, 65535}) arrive(wrong(4, msn));
  EXPECT_EQ(state(), QpState::kRts);
  arrive(wrong(4, 1));  // that of a peer whose program has the wrong key
  EXPECT_EQ(state(), QpState::kError);
  EXPECT_EQ(verdict(), wire::kSyndromeRemoteAccess);
}

TEST_F(ResponderForgedTest, a_form_that_the_path_mtu_forbids_is_reported_in_turn_only) {
  start();
  for (int32_t k : {1, 2}) {
    wire::Packet p = write_packet(k, 100);
    p.bth.opcode = wire::Opcode::kWriteFirst;
    p.req.reth.dmalen = 1000;
    arrive(p);
    p = write_packet(k, 256);
    p.bth.opcode = wire::Opcode::kWriteLast;  // of two packets, of which the last holds 44 bytes
    p.req.reth.dmalen = 300;
    arrive(p);
  }
  EXPECT_EQ(counters().drop_misfit, 4u);
  EXPECT_EQ(state(), QpState::kRts);
  wire::Packet p = write_packet(0, 100);
  p.bth.opcode = wire::Opcode::kWriteFirst;
  p.req.reth.dmalen = 1000;
  arrive(p);
  EXPECT_EQ(verdict(), wire::kSyndromeInvalidRequest);
}

// [MRC-METH-2]
TEST_F(ResponderForgedTest, immediates_are_delivered_in_the_order_of_their_numbers) {
  start();
  for (int i = 0; i < 4; ++i) endpoint_->post_recv(now_, qp_, static_cast<uint64_t>(i));
  arrive(imm_packet(0, 0));
  arrive(imm_packet(1, 3));
  EXPECT_EQ(receives_.size(), 1u + 3u);  // the second is not delivered: three receives are flushed
  EXPECT_EQ(receives_[1].status, WcStatus::kFlushed);
  expect_contradiction();
}

// Trimmed packets carry no RETH: nothing to compare, and nothing that they could take.
TEST_F(ResponderForgedTest, trimmed_packets_are_not_compared) {
  start();
  arrive(write_packet(0));
  wire::Packet p = write_packet(1);
  p.meth.msn = 999;
  receive(p, inbound(0, wire::Ecn::kEct0, config_.dscp.trimmed));
  drain();
  EXPECT_EQ(sent(wire::Opcode::kNack).size(), 1u);
  EXPECT_EQ(counters().drop_misfit, 0u);
}

// The paths of answers follow the peer's packets.
TEST_F(ResponderForgedTest, a_misfit_does_not_choose_the_path_of_answers) {
  start();
  arrive(write_packet(0));
  verdict();
  sent_.clear();
  wire::Packet forged = nothing(0, 3);
  receive(forged, inbound(1), 1);
  pass(config_.ack_delay * 20);
  arrive(write_packet(1, 64, 64));
  EXPECT_EQ(verdict(), wire::kSyndromeAck);
  for (const SentPacket* s : sent(wire::Opcode::kAck)) EXPECT_EQ(s->plane, 0_plane);
}

}  // namespace
}  // namespace mrc::core
