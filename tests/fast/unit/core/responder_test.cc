// Packets accepted, refused and completed by the responder. Its answers are in responder_ack_test.cc.
// [MRC-RSP-*]
#include "core/responder.h"

#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class ResponderTest : public LoneEndpoint {
 protected:
  ResponderTest() { std::fill(std::begin(payload_), std::end(payload_), uint8_t{0x77}); }
  bool landed(uint64_t offset, uint32_t n) const {
    return std::all_of(&memory_[offset], &memory_[offset] + n, [](uint8_t b) { return b == 0x77; });
  }
  // The last verdict that left, after every timer: a NAK's syndrome, or 0x1F.
  uint8_t verdict() {
    drain();
    pass(config_.ack_delay * 2);
    const auto acks = sent(wire::Opcode::kAck);
    return acks.empty() ? 0 : acks.back()->p.aeth.syndrome;
  }
  void receives(int n) {
    for (int i = 0; i < n; ++i) endpoint_->post_recv(now_, qp_, static_cast<uint64_t>(i));
  }
};

// [MRC-RSP-1] [MRC-PSN-1]
TEST_F(ResponderTest, places_on_arrival_in_any_order_across_the_wrap) {
  start();
  for (int32_t k : {4, 1, 3}) {
    arrive(write_packet(k, 64, static_cast<uint64_t>(k) * 100));
    EXPECT_TRUE(landed(static_cast<uint64_t>(k) * 100, 64)) << k;
  }
  EXPECT_EQ(counters().rx_data, 3u);
}

// Whichever stores place it, both sides of the size from which the others are used.
TEST_F(ResponderTest, payload_past_the_caches_is_the_same) {
  attr_.path_mtu = 4096;
  for (size_t i = 0; i < sizeof payload_; ++i) payload_[i] = static_cast<uint8_t>(i * 11 + 5);
  for (const bool stream : {false, true}) {
    stream_ = stream;
    std::fill(memory_.begin(), memory_.end(), uint8_t{0x11});
    start();
    constexpr uint64_t kAt = 1000;
    int32_t k = 0;
    for (const uint32_t n : {2047u, 2048u, 4095u, 4096u}) {
      arrive(write_packet(k, n, kAt + 8192 * static_cast<uint64_t>(k)));
      const uint8_t* const placed = memory_.data() + kAt + 8192 * static_cast<uint64_t>(k++);
      EXPECT_EQ(std::memcmp(placed, payload_, n), 0) << n << " streamed " << stream;
      EXPECT_EQ(placed[-1], 0x11);
      EXPECT_EQ(placed[n], 0x11);
    }
    EXPECT_EQ(endpoint_->long_payload(), 2048u + 4095u + 4096u);
  }
}

// [MRC-RSP-3] [MRC-PSN-2] [MRC-CHOICE-Q5] [MRC-CHOICE-Q26]
TEST_F(ResponderTest, the_window_ends_at_its_last_psn) {
  for (int mpr : {1, 32, 255}) {
    sent_.clear();
    attr_.mpr_dest = static_cast<uint8_t>(mpr);
    start();
    arrive(write_packet(128 * mpr - 1));
    EXPECT_EQ(counters().drop_window, 0u);
    arrive(write_packet(128 * mpr, 64, 5000));
    EXPECT_EQ(counters().drop_window, 1u);
    EXPECT_FALSE(landed(5000, 64));
    drain();
    const auto nacks = sent(wire::Opcode::kNack);
    ASSERT_EQ(nacks.size(), 1u);
    EXPECT_EQ(nacks[0]->p.neth.reason, wire::NackReason::kPsnOorWindow);
    EXPECT_EQ(nacks[0]->p.neth.nack_psn, attr_.rq_psn + 128 * mpr);
  }
}

TEST_F(ResponderTest, nacks_out_of_the_window_are_limited_in_rate) {
  attr_.mpr_dest = 1;
  start();
  arrive(write_packet(128));
  now_ = now_ + config_.ack_delay - Duration::nanoseconds(1);
  arrive(write_packet(129));
  EXPECT_EQ(counters().tx_nacks, 1u);
  now_ = now_ + Duration::nanoseconds(1);
  arrive(write_packet(130));
  EXPECT_EQ(counters().tx_nacks, 2u);
}

// [MRC-RSP-4]
TEST_F(ResponderTest, a_duplicate_is_never_written_again) {
  start();
  arrive(write_packet(0, 64, 0));
  arrive(write_packet(2, 64, 200));
  std::fill(memory_.begin(), memory_.end(), uint8_t{0});
  pass(config_.ack_delay);
  sent_.clear();
  arrive(write_packet(0, 64, 0));
  drain();
  EXPECT_EQ(sent(wire::Opcode::kSack).size(), 1u);
  EXPECT_EQ(sent(wire::Opcode::kAck).size(), 1u);  // behind the expected PSN: the ACK, too
  sent_.clear();
  arrive(write_packet(2, 64, 200));
  drain();
  EXPECT_EQ(sent(wire::Opcode::kSack).size(), 1u);
  EXPECT_EQ(sent(wire::Opcode::kAck).size(), 0u);
  EXPECT_FALSE(landed(0, 1));
  EXPECT_FALSE(landed(200, 1));
  EXPECT_EQ(counters().rx_duplicates, 2u);
}

// [MRC-RSP-6] [MRC-WIRE-4]
TEST_F(ResponderTest, a_write_of_nothing_needs_no_key) {
  start();
  wire::Packet p = write_packet(0, 0);
  p.req.reth.rkey = Key(0xBAD);
  arrive(p);
  EXPECT_EQ(verdict(), wire::kSyndromeAck);
  p = write_packet(1, 1);
  p.req.reth.rkey = Key(0xBAD);
  arrive(p);
  EXPECT_EQ(verdict(), wire::kSyndromeRemoteAccess);
}

// [MRC-RSP-7] [MRC-RETH-3] [MRC-SEC-4]
TEST_F(ResponderTest, a_fault_is_reported_in_its_turn) {
  start();
  wire::Packet bad = write_packet(1);
  bad.req.reth.rkey = Key(key_.value() + 1);
  arrive(bad);
  EXPECT_EQ(counters().drop_access, 1u);
  EXPECT_EQ(verdict(), 0);
  EXPECT_EQ(state(), QpState::kRts);
  arrive(write_packet(0, 64, 100));
  EXPECT_TRUE(landed(100, 64));
  EXPECT_EQ(verdict(), wire::kSyndromeAck);  // of what is complete; the packet is not reported as received
  EXPECT_EQ(sent(wire::Opcode::kSack).back()->p.sack.seth.sack_bitmap >> (1 + (attr_.rq_psn.value() & 7)), 0u);
  arrive(bad);  // sent again
  EXPECT_EQ(verdict(), wire::kSyndromeRemoteAccess);
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + 1);
  EXPECT_EQ(state(), QpState::kError);
}

TEST_F(ResponderTest, payload_and_path_mtu_must_agree) {
  struct Case {
    wire::Opcode op;
    uint32_t n, dmalen;
    uint8_t want;
  };
  const Case cases[] = {{wire::Opcode::kWriteOnly, 256, 256, wire::kSyndromeAck},
                        {wire::Opcode::kWriteOnly, 257, 257, wire::kSyndromeInvalidRequest},
                        {wire::Opcode::kWriteFirst, 252, 512, wire::kSyndromeInvalidRequest}};
  for (const Case& c : cases) {
    sent_.clear();
    start();
    wire::Packet p = write_packet(0, c.n);
    p.bth.opcode = c.op;
    p.req.reth.dmalen = c.dmalen;
    arrive(p);
    EXPECT_EQ(verdict(), c.want) << c.n;
  }
}

// [MRC-RSP-8] [MRC-RSP-9] [MRC-RSP-10]
TEST_F(ResponderTest, an_immediate_waits_for_its_turn_and_its_receive) {
  start();
  arrive(imm_packet(1, 1));
  arrive(imm_packet(0, 0, 16));
  EXPECT_EQ(counters().wimm_held, 1u);
  EXPECT_TRUE(receives_.empty());
  receives(1);
  ASSERT_EQ(receives_.size(), 1u);
  EXPECT_EQ(receives_[0].byte_len, 16u);
  EXPECT_TRUE(receives_[0].solicited);
  receives(1);
  ASSERT_EQ(receives_.size(), 2u);
  EXPECT_EQ(receives_[1].byte_len, 0u);
  EXPECT_NE(receives_[0].imm, receives_[1].imm);
  EXPECT_EQ(verdict(), wire::kSyndromeAck);
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.aeth.msn, 2u);  // [MRC-AETH-2]
}

// [MRC-WIMM-2] [MRC-CHOICE-Q27]
TEST_F(ResponderTest, more_immediates_than_agreed_are_an_invalid_request) {
  attr_.max_wimm_dest = 3;
  start();
  for (uint16_t i = 0; i < 3; ++i) arrive(imm_packet(i + 1, static_cast<uint16_t>(i + 1)));
  receives(8);
  arrive(imm_packet(0, 0));  // the fourth
  EXPECT_EQ(verdict(), wire::kSyndromeInvalidRequest);
  sent_.clear();
  receives_.clear();
  start();
  receives(8);
  for (uint16_t i = 0; i < 2; ++i) arrive(imm_packet(i + 1, static_cast<uint16_t>(i + 1)));
  arrive(imm_packet(0, 0));
  EXPECT_EQ(verdict(), wire::kSyndromeAck);
  EXPECT_EQ(receives_.size(), 3u);
}

// [MRC-RSP-12]
TEST_F(ResponderTest, a_qp_in_error_repeats_its_verdict) {
  start();
  wire::Packet bad = write_packet(0);
  bad.req.reth.rkey = Key(0);
  arrive(bad);
  EXPECT_EQ(verdict(), wire::kSyndromeRemoteAccess);
  sent_.clear();
  arrive(write_packet(1));
  EXPECT_EQ(verdict(), wire::kSyndromeRemoteAccess);
}

// [MRC-MBX-2]: what the owner of the mailbox answers would end with the QP.
class ResponderMailboxTest : public ResponderTest {
 protected:
  void start_with_mailbox() {
    start();
    endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_);
    endpoint_->set_mailbox(qp_, {box_.data(), box_.size(), 5, true});
    bring_up(qp_);
  }
  // A message, and a request behind it that is to be refused.
  void message_and_bad_request() {
    wire::Packet message = imm_packet(0, 0);
    message.req.reth.rkey = kMailboxKey;
    message.req.reth.va = 0;
    arrive(message);
    ASSERT_EQ(receives_.size(), 1u);
    retransmit_bad();
    EXPECT_EQ(state(), QpState::kRts);
  }
  void retransmit_bad() {
    wire::Packet bad = write_packet(1);
    bad.req.reth.rkey = Key(0);
    arrive(bad);
  }

  std::vector<uint8_t> box_ = std::vector<uint8_t>(1024);
};

TEST_F(ResponderMailboxTest, a_refusal_waits_for_the_answers_to_the_mailbox) {
  start_with_mailbox();
  message_and_bad_request();
  ASSERT_EQ(post(1, 8), PostResult::kOk);  // the answer
  drain();
  EXPECT_EQ(requests().size(), 1u);
  arrive(ack(0));
  pass(Duration::milliseconds(60));
  retransmit_bad();
  EXPECT_EQ(state(), QpState::kRts);
  mailbox_answered_ = 1;
  retransmit_bad();
  EXPECT_EQ(verdict(), wire::kSyndromeRemoteAccess);
  EXPECT_EQ(state(), QpState::kError);
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
}

TEST_F(ResponderMailboxTest, a_refusal_does_not_wait_longer_for_an_owner_that_does_not_answer) {
  start_with_mailbox();
  message_and_bad_request();
  pass(Duration::milliseconds(500) - Duration::nanoseconds(1));
  retransmit_bad();
  EXPECT_EQ(state(), QpState::kRts);
  pass(Duration::nanoseconds(1));
  retransmit_bad();
  EXPECT_EQ(verdict(), wire::kSyndromeRemoteAccess);
  EXPECT_EQ(state(), QpState::kError);
}

TEST_F(ResponderMailboxTest, messages_before_a_reset_are_not_waited_for) {
  start_with_mailbox();
  message_and_bad_request();
  endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_);
  bring_up(qp_);
  receives_.clear();
  message_and_bad_request();
  mailbox_answered_ = 1;
  retransmit_bad();
  EXPECT_EQ(state(), QpState::kError);
}

TEST_F(ResponderTest, without_a_verdict_of_its_own_it_says_that_none_will_come) {
  start();
  arrive(write_packet(0));
  endpoint_->modify_qp(now_, qp_, QpState::kError, attr_);
  sent_.clear();
  arrive(write_packet(0));
  EXPECT_EQ(verdict(), wire::kSyndromeAck);  // what was complete stays so
  EXPECT_TRUE(sent(wire::Opcode::kNack).empty());
  arrive(write_packet(1));
  drain();
  ASSERT_EQ(sent(wire::Opcode::kNack).size(), 1u);
  EXPECT_EQ(sent(wire::Opcode::kNack)[0]->p.neth.reason, wire::NackReason::kUnexpEvent);
}

TEST_F(ResponderTest, a_probe_of_a_qp_in_error_is_answered_and_the_rest_refused) {
  start();
  arrive(write_packet(0));
  endpoint_->modify_qp(now_, qp_, QpState::kError, attr_);
  sent_.clear();
  arrive(probe(1));
  drain();
  EXPECT_EQ(sent(wire::Opcode::kSack).size(), 1u);
  ASSERT_EQ(sent(wire::Opcode::kNack).size(), 1u);
  EXPECT_EQ(sent(wire::Opcode::kNack)[0]->p.neth.reason, wire::NackReason::kUnexpEvent);
}

// [MRC-RSP-11]
TEST_F(ResponderTest, a_destroyed_qp_still_acknowledges_what_it_had) {
  start();
  arrive(write_packet(0));
  arrive(write_packet(1));
  pass(config_.ack_delay);
  endpoint_->destroy_qp(qp_);
  sent_.clear();
  arrive(write_packet(2));  // new to it: no such QP
  drain();
  EXPECT_TRUE(sent_.empty());
  arrive(write_packet(1));
  drain();
  ASSERT_EQ(sent(wire::Opcode::kAck).size(), 1u);
  EXPECT_EQ(sent(wire::Opcode::kAck)[0]->p.bth.psn, attr_.rq_psn + 1);
  EXPECT_EQ(sent(wire::Opcode::kAck)[0]->p.aeth.msn, 2u);
  now_ = now_ + config_.ack_delay;
  arrive(probe(3));
  drain();
  EXPECT_EQ(sent(wire::Opcode::kAck).size(), 2u);
  qp_ = make_qp(kOwnQpn);  // the number is used again: the record is gone
  endpoint_->destroy_qp(qp_);
  now_ = now_ + config_.ack_delay;
  arrive(probe(4));
  drain();
  EXPECT_EQ(sent(wire::Opcode::kAck).size(), 2u);
}

// A verdict is reported when everything before it is complete, in ERROR as in RTS: by a NAK.
TEST_F(ResponderTest, in_error_a_fault_that_its_turn_never_came_to_is_no_verdict) {
  start();
  wire::Packet bad = write_packet(1);
  bad.req.reth.rkey = Key(0);
  arrive(bad);
  endpoint_->modify_qp(now_, qp_, QpState::kError, attr_);
  sent_.clear();
  arrive(write_packet(0));
  drain();
  for (const SentPacket* s : sent(wire::Opcode::kAck)) EXPECT_FALSE(wire::is_nak_syndrome(s->p.aeth.syndrome));
  ASSERT_EQ(sent(wire::Opcode::kNack).size(), 1u);
  EXPECT_EQ(sent(wire::Opcode::kNack)[0]->p.neth.nack_psn, attr_.rq_psn);
}

// [MRC-RSP-12]
TEST_F(ResponderTest, in_error_complete_requests_are_acknowledged_before_the_rest_is_refused) {
  start();
  arrive(write_packet(0));
  endpoint_->modify_qp(now_, qp_, QpState::kError, attr_);  // the ACK has not left yet
  arrive(write_packet(1));
  drain();
  ASSERT_GE(sent_.size(), 2u);
  EXPECT_EQ(sent_[0]->op(), wire::Opcode::kAck);
  EXPECT_EQ(sent_[0]->p.bth.psn, attr_.rq_psn);
  EXPECT_EQ(sent_[0]->p.aeth.msn, 1u);
  EXPECT_EQ(sent_[1]->op(), wire::Opcode::kNack);
}

// [MRC-QP-3]
TEST_F(ResponderTest, a_reset_forgets_immediates_that_waited) {
  attr_.max_wimm_dest = 1;
  start();
  arrive(imm_packet(0, 0));
  ASSERT_TRUE(endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_));
  bring_up(qp_);
  receives(1);
  arrive(imm_packet(0, 0));
  EXPECT_EQ(verdict(), wire::kSyndromeAck);
  EXPECT_EQ(receives_.size(), 1u);
  EXPECT_EQ(state(), QpState::kRts);
}

// [MRC-RSP-11]
TEST_F(ResponderTest, a_qp_destroyed_in_error_still_acknowledges_what_it_had) {
  start();
  arrive(write_packet(0));
  pass(config_.ack_delay);
  endpoint_->modify_qp(now_, qp_, QpState::kError, attr_);
  endpoint_->destroy_qp(qp_);
  sent_.clear();
  arrive(write_packet(0));
  drain();
  ASSERT_EQ(sent(wire::Opcode::kAck).size(), 1u);
  EXPECT_EQ(sent(wire::Opcode::kAck)[0]->p.bth.psn, attr_.rq_psn);
  EXPECT_EQ(sent(wire::Opcode::kAck)[0]->p.aeth.syndrome, wire::kSyndromeAck);
}

TEST_F(ResponderTest, a_qp_destroyed_with_a_verdict_still_tells_it) {
  start();
  arrive(write_packet(0));
  wire::Packet bad = write_packet(1);
  bad.req.reth.rkey = Key(0);
  arrive(bad);
  EXPECT_EQ(verdict(), wire::kSyndromeRemoteAccess);
  endpoint_->destroy_qp(qp_);
  for (const wire::Packet& query : {write_packet(0), bad, probe(1)}) {
    sent_.clear();
    now_ = now_ + config_.ack_delay;
    arrive(query);
    drain();
    ASSERT_EQ(sent(wire::Opcode::kAck).size(), 1u);
    EXPECT_EQ(sent(wire::Opcode::kAck)[0]->p.bth.psn, attr_.rq_psn + 1);
    EXPECT_EQ(sent(wire::Opcode::kAck)[0]->p.aeth.syndrome, wire::kSyndromeRemoteAccess);
  }
}

// [MRC-RSP-1]
TEST_F(ResponderTest, a_region_of_another_protection_domain_is_shut) {
  start();
  wire::Packet p = write_packet(0);
  p.req.reth.rkey = endpoint_->memory().add(memory_.data(), base(), memory_.size(), 3, 2);
  arrive(p);
  EXPECT_EQ(verdict(), wire::kSyndromeRemoteAccess);
  EXPECT_FALSE(landed(0, 1));
}

// [MRC-WIMM-2]: two numbers that share a place.
TEST_F(ResponderTest, an_immediate_that_waits_is_not_overwritten) {
  attr_.max_wimm_dest = 4;
  start();
  receives(8);
  arrive(imm_packet(1, 1));
  arrive(imm_packet(5, 5));
  EXPECT_EQ(counters().drop_access, 1u);
  arrive(imm_packet(0, 0));
  ASSERT_EQ(receives_.size(), 2u);
  EXPECT_EQ(receives_[1].imm, __builtin_bswap32(0xA0B0C001));
  EXPECT_EQ(state(), QpState::kRts);
}

// [MRC-QP-3]: whether the verdict has left or not.
TEST_F(ResponderTest, a_reset_forgets_the_fault) {
  for (bool drained : {true, false}) {
    sent_.clear();
    start();
    wire::Packet bad = write_packet(0);
    bad.req.reth.rkey = Key(0);
    arrive(bad);
    ASSERT_EQ(state(), QpState::kError);
    if (drained) drain();
    ASSERT_TRUE(endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_));
    bring_up(qp_);
    arrive(write_packet(0));
    EXPECT_EQ(verdict(), wire::kSyndromeAck) << drained;
    endpoint_->destroy_qp(qp_);
    sent_.clear();
    now_ = now_ + config_.ack_delay;
    arrive(write_packet(0));
    EXPECT_EQ(verdict(), wire::kSyndromeAck) << drained;
  }
}

// [MRC-QP-3]
TEST_F(ResponderTest, a_reset_forgets_the_number_of_the_last_immediate) {
  start();
  receives(2);
  arrive(imm_packet(0, 7));
  ASSERT_EQ(receives_.size(), 1u);
  ASSERT_TRUE(endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_));
  bring_up(qp_);
  receives(1);
  arrive(imm_packet(0, 0));
  EXPECT_EQ(receives_.size(), 2u);
  EXPECT_EQ(state(), QpState::kRts);
}

// [MRC-RSP-11] [MRC-RSP-12] [MRC-SEC-9]
TEST_F(ResponderTest, qps_that_are_gone_answer_at_a_limited_rate_and_the_peer_alone) {
  for (bool destroyed : {false, true}) {
    start();
    arrive(write_packet(0));
    wire::Packet bad = write_packet(1);
    bad.req.reth.rkey = Key(0);
    arrive(bad);
    drain();
    if (destroyed) endpoint_->destroy_qp(qp_);
    now_ = now_ + Duration::seconds(1);
    sent_.clear();
    for (int i = 0; i < 5; ++i) {
      arrive(probe(static_cast<uint16_t>(i)));
      arrive(write_packet(0));
      drain();
    }
    EXPECT_EQ(sent(wire::Opcode::kAck).size(), 1u) << destroyed;
    now_ = now_ + config_.ack_delay - Duration::nanoseconds(1);
    arrive(write_packet(0));
    drain();
    EXPECT_EQ(sent(wire::Opcode::kAck).size(), 1u);
    now_ = now_ + Duration::nanoseconds(1);
    wire::Flow foreign = inbound();
    foreign.src = IpAddress::v4(10, 0, 0, 77);
    receive(write_packet(0), foreign);
    drain();
    EXPECT_EQ(sent(wire::Opcode::kAck).size(), 1u);
    arrive(write_packet(0));
    drain();
    EXPECT_EQ(sent(wire::Opcode::kAck).size(), 2u) << destroyed;
  }
}

}  // namespace
}  // namespace mrc::core
