// When payloads are written to memory: on arrival, or in the order in which their packets were sent. [MRC-RSP-15]
#include <cstring>

#include "core/responder.h"
#include "fault_handlers.h"
#include "harness/gone_memory.h"
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

class ResponderOrderTest : public LoneEndpoint {
 protected:
  ResponderOrderTest() { config_.placement = Placement::kInOrder; }
  void arrive_with(uint8_t value, wire::Packet p) {
    std::memset(payload_, value, p.payload_len);
    arrive(p);
  }
  // The bytes [offset, offset + n) of the memory have the value.
  bool has(uint8_t value, uint64_t offset, uint32_t n = 64) const {
    return std::all_of(&memory_[offset], &memory_[offset] + n, [value](uint8_t b) { return b == value; });
  }
  bool untouched(uint64_t offset, uint32_t n = 64) const { return has(0x11, offset, n); }
  // Packet `k` of all, number `i` of a message of whole packets that is the first one.
  wire::Packet part(int32_t i, uint32_t packets, uint64_t offset = 0) {
    wire::Packet p = write_packet(i, attr_.path_mtu, offset + static_cast<uint64_t>(i) * attr_.path_mtu);
    const auto last = static_cast<int32_t>(packets) - 1;
    p.bth.opcode = i == 0      ? wire::Opcode::kWriteFirst
                   : i == last ? wire::Opcode::kWriteLast
                               : wire::Opcode::kWriteMiddle;
    p.meth.msn = 0;
    p.req.reth.dmalen = packets * attr_.path_mtu;
    return p;
  }
  void with_mailbox() {
    endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_);
    endpoint_->set_mailbox(qp_, {box_.data(), box_.size(), 5, true});
    bring_up(qp_);
  }
  bool on_completion(const Completion& c) override {
    if (c.is_recv) memory_at_completion_.push_back(memory_);
    return LoneEndpoint::on_completion(c);
  }
  uint8_t nak_after_all() {
    drain();
    pass(config_.ack_delay * 2);
    const auto acks = sent(wire::Opcode::kAck);
    return acks.empty() ? 0 : acks.back()->p.aeth.syndrome;
  }

  std::vector<uint8_t> box_ = std::vector<uint8_t>(1024);
  std::vector<std::vector<uint8_t>> memory_at_completion_;
};

TEST_F(ResponderOrderTest, a_payload_waits_for_the_packets_before_it) {
  start();
  arrive_with(2, write_packet(2, 64, 200));
  arrive_with(1, write_packet(1, 64, 100));
  EXPECT_TRUE(untouched(100) && untouched(200));
  EXPECT_EQ(counters().rx_early, 2u);
  arrive_with(9, write_packet(0, 64, 0));
  EXPECT_TRUE(has(9, 0) && has(1, 100) && has(2, 200));
  EXPECT_EQ(counters().rx_data, 3u);
  EXPECT_EQ(counters().rx_early, 2u);
  arrive_with(3, write_packet(3, 64, 300));  // in its turn
  EXPECT_TRUE(has(3, 300));
  EXPECT_EQ(counters().rx_early, 2u);
}

// What a program for verbs has written last stays, in whatever order packets arrive.
TEST_F(ResponderOrderTest, of_writes_to_one_place_the_last_one_stays) {
  const struct {
    Placement placement;
    uint8_t stays;
  } cases[] = {{Placement::kInOrder, 3}, {Placement::kArrival, 1}};
  for (const auto& c : cases) {
    config_.placement = c.placement;
    start();
    for (const int32_t k : {2, 1, 0}) arrive_with(static_cast<uint8_t>(k + 1), write_packet(k));
    EXPECT_TRUE(has(c.stays, 0)) << static_cast<int>(c.placement);
  }
}

// A program that sees the last byte of a message has all of it.
TEST_F(ResponderOrderTest, the_end_of_a_message_appears_after_the_rest) {
  start();
  arrive_with(7, part(2, 3));
  arrive_with(7, part(0, 3));
  EXPECT_TRUE(has(7, 0, 256));
  EXPECT_TRUE(untouched(512, 256));
  arrive_with(7, part(1, 3));
  EXPECT_TRUE(has(7, 0, 768));
}

// Queue pairs of programs for verbs have a mailbox; those of programs for MRC expect packets in any order.
TEST_F(ResponderOrderTest, by_default_a_qp_with_a_mailbox_keeps_the_order) {
  config_.placement = EndpointConfig().placement;
  start();
  arrive_with(1, write_packet(1));
  EXPECT_TRUE(has(1, 0));
  std::fill(memory_.begin(), memory_.end(), uint8_t{0x11});
  with_mailbox();
  arrive_with(2, write_packet(1));
  EXPECT_TRUE(untouched(0));
  config_.placement = Placement::kArrival;
  start();
  with_mailbox();
  arrive_with(3, write_packet(1));
  EXPECT_TRUE(has(3, 0));
}

// Its owner reads it when the message is complete.
TEST_F(ResponderOrderTest, writes_to_the_mailbox_do_not_wait) {
  start();
  with_mailbox();
  wire::Packet p = imm_packet(1, 1, 64);
  p.req.reth.rkey = kMailboxKey;
  p.req.reth.va = 128;
  arrive_with(4, p);
  EXPECT_EQ(box_[128], 4);
  EXPECT_EQ(counters().rx_early, 0u);
  EXPECT_TRUE(receives_.empty());
}

// [MRC-RSP-10]
TEST_F(ResponderOrderTest, a_completion_comes_behind_its_payload_and_all_before) {
  start();
  for (uint64_t i = 0; i < 2; ++i) endpoint_->post_recv(now_, qp_, i);
  arrive_with(2, imm_packet(2, 1, 64));
  arrive_with(1, write_packet(1, 32));
  arrive_with(9, imm_packet(0, 0, 16));
  ASSERT_EQ(receives_.size(), 2u);
  const auto at = [this](size_t completion, size_t offset) { return memory_at_completion_[completion][offset]; };
  EXPECT_EQ(at(0, 0), 9);
  EXPECT_EQ(at(0, 16), 0x11);
  EXPECT_EQ(at(1, 0), 2);
  EXPECT_EQ(at(1, 63), 2);
}

// [MRC-RSP-8]
TEST_F(ResponderOrderTest, payloads_behind_an_immediate_that_waits_for_a_receive_wait_too) {
  start();
  arrive_with(1, imm_packet(0, 0, 16));
  EXPECT_TRUE(has(1, 0, 16));
  arrive_with(2, write_packet(1));
  EXPECT_TRUE(has(1, 0, 16));
  endpoint_->post_recv(now_, qp_, 0);
  EXPECT_TRUE(has(2, 0));
}

// [MRC-RSP-4]
TEST_F(ResponderOrderTest, a_payload_that_waited_is_written_once) {
  start();
  arrive_with(2, write_packet(1));
  arrive_with(3, write_packet(1));  // a duplicate; the first copy counts
  arrive_with(1, write_packet(0, 64, 100));
  EXPECT_TRUE(has(2, 0));
  std::fill(memory_.begin(), memory_.end(), uint8_t{0x11});
  arrive_with(2, write_packet(1));
  arrive_with(1, write_packet(2, 64, 100));
  EXPECT_TRUE(untouched(0));
  EXPECT_EQ(counters().rx_duplicates, 2u);
}

// [MRC-RSP-3]
TEST_F(ResponderOrderTest, a_whole_window_can_wait) {
  attr_.mpr_dest = 1;
  start();
  for (int32_t k = 127; k > 0; --k)
    arrive_with(static_cast<uint8_t>(k), write_packet(k, 8, static_cast<uint64_t>(k) * 8));
  EXPECT_EQ(counters().rx_early, 127u);
  EXPECT_TRUE(untouched(0, 1024));
  arrive_with(200, write_packet(0, 8));
  EXPECT_TRUE(has(200, 0, 8));
  for (int32_t k = 1; k < 128; ++k) EXPECT_TRUE(has(static_cast<uint8_t>(k), static_cast<uint64_t>(k) * 8, 8)) << k;
}

// A SACK has reported it, so the peer does not send it again.
TEST_F(ResponderOrderTest, a_region_that_is_gone_by_then_fails_the_qp_in_its_turn) {
  start();
  const Key other = endpoint_->memory().add(memory_.data(), base(), memory_.size(), 3, 1);
  wire::Packet p = write_packet(1, 64, 100);
  p.req.reth.rkey = other;
  arrive_with(1, p);
  arrive_with(2, write_packet(2, 64, 200));
  ASSERT_TRUE(endpoint_->memory().remove(other));
  EXPECT_EQ(state(), QpState::kRts);
  arrive_with(9, write_packet(0));
  EXPECT_EQ(state(), QpState::kError);
  EXPECT_EQ(events_, std::vector<AsyncEvent>{AsyncEvent::kQpAccessError});
  EXPECT_TRUE(has(9, 0));
  EXPECT_TRUE(untouched(100) && untouched(200));
  EXPECT_EQ(nak_after_all(), wire::kSyndromeRemoteAccess);
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + 1);
}

// [MRC-RSP-14]
TEST_F(ResponderOrderTest, memory_that_is_gone_by_then_fails_the_qp_in_its_turn) {
  const harness::NoFaultHandlers none;
  EXPECT_TRUE(environment::install_fault_handlers());
  harness::GoneMemory gone;
  start();
  wire::Packet p = write_packet(1);
  p.req.reth.va = gone.address();
  p.req.reth.rkey = endpoint_->memory().add(gone.data(), gone.address(), harness::GoneMemory::kBytes, 3, 1);
  arrive_with(1, p);
  gone.go(harness::GoneMemory::kUnmapped);
  arrive_with(9, write_packet(0));
  EXPECT_EQ(state(), QpState::kError);
  EXPECT_EQ(events_, std::vector<AsyncEvent>{AsyncEvent::kQpFatal});
  EXPECT_EQ(nak_after_all(), wire::kSyndromeRemoteOperation);
  EXPECT_EQ(sent(wire::Opcode::kAck).back()->p.bth.psn, attr_.rq_psn + 1);
}

// [MRC-QP-2] [MRC-QP-3]
TEST_F(ResponderOrderTest, an_error_or_a_reset_forgets_what_waited) {
  for (const bool error : {true, false}) {
    start();
    std::fill(memory_.begin(), memory_.end(), uint8_t{0x11});
    arrive_with(1, write_packet(1, 64, 100));
    if (error) {
      ASSERT_TRUE(endpoint_->modify_qp(now_, qp_, QpState::kError, attr_));
      arrive_with(2, write_packet(0));
      EXPECT_TRUE(untouched(0) && untouched(100));
    }
    ASSERT_TRUE(endpoint_->modify_qp(now_, qp_, QpState::kReset, attr_));
    bring_up(qp_);
    arrive_with(2, write_packet(0));
    EXPECT_TRUE(has(2, 0));
    EXPECT_TRUE(untouched(100)) << error;
  }
}

}  // namespace
}  // namespace mrc::core
