// Memory of a region that is unmapped, truncated or protected while it is registered: the queue pair fails, not the
// process. [MRC-REQ-11] [MRC-RSP-14] [MRC-UD-12]
#include <cstring>

#include "fault_handlers.h"
#include "harness/gone_memory.h"
#include "lone_endpoint.h"

namespace mrc::core {
namespace {

using harness::GoneMemory;

class MemoryGoneTest : public LoneEndpoint {
 protected:
  MemoryGoneTest() {
    EXPECT_TRUE(environment::install_fault_handlers());
    start();
    gone_key_ = endpoint_->memory().add(memory_gone_.data(), memory_gone_.address(), GoneMemory::kBytes, 3, 1);
  }
  void on_memory_fault(Qpn qpn, const MemoryFault& fault) override {
    EXPECT_EQ(qpn, qpn_at_fault_);
    faults_.push_back(fault);
  }
  wire::Packet write_to_gone(int32_t k, uint32_t n = 64, uint64_t offset = 0) {
    wire::Packet p = write_packet(k, n);
    p.req.reth.va = memory_gone_.address() + offset;
    p.req.reth.rkey = gone_key_;
    return p;
  }
  PostResult post_from_gone(uint64_t id, uint32_t n, bool inlined = false) {
    const Sge sge{memory_gone_.address(), n, gone_key_};
    SendWr wr;
    wr.wr_id = id;
    wr.signaled = true;
    wr.inline_data = inlined;
    wr.sges = &sge;
    wr.num_sge = 1;
    wr.remote_addr = 0x5000;
    wr.rkey = Key(77);
    return endpoint_->post_send(now_, qp_, wr);
  }
  void expect_fault(bool write) {
    ASSERT_EQ(faults_.size(), 1u);
    EXPECT_LT(faults_[0].address - memory_gone_.address(), GoneMemory::kBytes);
    EXPECT_EQ(faults_[0].region, memory_gone_.address());
    EXPECT_EQ(faults_[0].length, GoneMemory::kBytes);
    EXPECT_EQ(faults_[0].key, gone_key_);
    EXPECT_EQ(faults_[0].write, write);
  }

  const harness::NoFaultHandlers none_;
  GoneMemory memory_gone_;
  Key gone_key_;
  Qpn qpn_at_fault_ = kOwnQpn;
  std::vector<MemoryFault> faults_;
};

// [MRC-RSP-14]: large and small packets go different ways into memory.
TEST_F(MemoryGoneTest, a_write_ends_with_a_nak_of_a_remote_operational_error) {
  memory_gone_.go(GoneMemory::kTruncated);
  arrive(write_packet(0));
  arrive(write_to_gone(1));
  drain();
  EXPECT_EQ(state(), QpState::kError);
  EXPECT_EQ(events_, std::vector<AsyncEvent>{AsyncEvent::kQpFatal});
  const auto acks = sent(wire::Opcode::kAck);
  ASSERT_FALSE(acks.empty());
  EXPECT_EQ(acks.back()->p.aeth.syndrome, wire::kSyndromeRemoteOperation);
  EXPECT_EQ(acks.back()->p.bth.psn, attr_.rq_psn + 1);
  expect_fault(true);
  EXPECT_EQ(counters().drop_memory_gone, 1u);
}

TEST_F(MemoryGoneTest, a_large_packet_of_a_write_fails_likewise) {
  memory_gone_.go(GoneMemory::kUnmapped);
  arrive(write_to_gone(0, 256, 128));
  EXPECT_EQ(state(), QpState::kError);
  expect_fault(true);
}

// [MRC-RSP-14]: the fault counts when everything before it is complete, and not if the memory is back by then.
TEST_F(MemoryGoneTest, a_packet_ahead_of_its_turn_is_dropped) {
  ASSERT_EQ(endpoint_->post_recv(now_, qp_, 8), PostResult::kOk);
  wire::Packet imm = imm_packet(1, 0, 64);
  imm.req.reth.va = memory_gone_.address();
  imm.req.reth.rkey = gone_key_;
  memory_gone_.go(GoneMemory::kProtected);
  arrive(imm);
  arrive(imm);
  EXPECT_EQ(state(), QpState::kRts);
  EXPECT_TRUE(faults_.empty());
  arrive(write_packet(0));
  memory_gone_.come_back();
  arrive(imm);
  EXPECT_EQ(state(), QpState::kRts);
  ASSERT_EQ(receives_.size(), 1u);
  EXPECT_EQ(receives_[0].status, WcStatus::kSuccess);
}

// [MRC-REQ-11]
TEST_F(MemoryGoneTest, a_request_whose_memory_is_gone_has_a_local_protection_error) {
  const struct { bool icrc, staged; } cases[] = {{true, true}, {true, false}, {false, true}};
  for (const auto& c : cases) {
    config_.icrc = c.icrc;
    start();
    burst_.always_staged = true;
    std::vector<uint8_t> staging(kMaxBurstBytes + kHeaderRoom);
    burst_.staging = c.staged ? staging.data() : nullptr;
    GoneMemory memory;
    const Key key = endpoint_->memory().add(memory.data(), memory.address(), GoneMemory::kBytes, 3, 1);
    const Sge sge{memory.address(), 4000, key};
    SendWr wr;
    wr.wr_id = 5;
    wr.signaled = true;
    wr.sges = &sge;
    wr.num_sge = 1;
    sends_.clear();
    faults_.clear();
    memory.go(GoneMemory::kTruncated);
    ASSERT_EQ(endpoint_->post_send(now_, qp_, wr), PostResult::kOk);
    drain();
    EXPECT_EQ(state(), QpState::kError);
    ASSERT_EQ(sends_.size(), 1u);
    EXPECT_EQ(sends_[0].status, WcStatus::kLocalProtection);
    ASSERT_EQ(faults_.size(), 1u);
    EXPECT_EQ(faults_[0].key, key);
    EXPECT_FALSE(faults_[0].write);
    burst_.staging = nullptr;
  }
}

// [MRC-REQ-8] [MRC-REQ-11]: the error waits until the request is the oldest, and nothing behind it leaves.
TEST_F(MemoryGoneTest, requests_before_the_failing_one_succeed) {
  ASSERT_EQ(post(1, 600), PostResult::kOk);
  ASSERT_EQ(post_from_gone(2, 600), PostResult::kOk);
  ASSERT_EQ(post(3, 64), PostResult::kOk);
  memory_gone_.go(GoneMemory::kUnmapped);
  drain();
  EXPECT_EQ(state(), QpState::kRts);
  EXPECT_EQ(requests().size(), 3u);
  expect_fault(false);
  pass(Duration::milliseconds(1));
  receive(ack(2), inbound());
  drain();
  ASSERT_EQ(sends_.size(), 3u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(sends_[1].status, WcStatus::kLocalProtection);
  EXPECT_EQ(sends_[2].status, WcStatus::kFlushed);
  EXPECT_EQ(state(), QpState::kError);
  EXPECT_EQ(events_, std::vector<AsyncEvent>{AsyncEvent::kQpFatal});
}

// A page in the middle of a request: packets before it have left and are not completed.
TEST_F(MemoryGoneTest, a_request_fails_where_its_memory_ends) {
  std::memset(memory_gone_.data(), 3, GoneMemory::kBytes);
  munmap(memory_gone_.data() + GoneMemory::kPage, GoneMemory::kPage);
  ASSERT_EQ(post_from_gone(2, 2 * GoneMemory::kPage), PostResult::kOk);
  drain();
  EXPECT_EQ(state(), QpState::kError);
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].status, WcStatus::kLocalProtection);
  expect_fault(false);
}

// A retransmission of what was acknowledged meanwhile needs no memory.
TEST_F(MemoryGoneTest, a_request_that_has_arrived_succeeds_though_its_memory_is_gone) {
  ASSERT_EQ(post_from_gone(2, 64), PostResult::kOk);
  drain();
  memory_gone_.go(GoneMemory::kUnmapped);
  receive(ack(0), inbound());
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].status, WcStatus::kSuccess);
  EXPECT_EQ(state(), QpState::kRts);
}

TEST_F(MemoryGoneTest, a_retransmission_from_memory_that_is_gone_fails_the_request) {
  ASSERT_EQ(post_from_gone(2, 64), PostResult::kOk);
  drain();
  memory_gone_.go(GoneMemory::kProtected);
  pass(Duration::seconds(1));
  EXPECT_EQ(state(), QpState::kError);
  ASSERT_EQ(sends_.size(), 1u);
  EXPECT_EQ(sends_[0].status, WcStatus::kLocalProtection);
  expect_fault(false);
}

TEST_F(MemoryGoneTest, inline_data_that_cannot_be_read_is_not_posted) {
  memory_gone_.go(GoneMemory::kUnmapped);
  EXPECT_EQ(post_from_gone(1, 32, true), PostResult::kUnreadable);
  EXPECT_EQ(post(2, 32), PostResult::kOk);
  drain();
  ASSERT_EQ(requests().size(), 1u);
  EXPECT_EQ(requests()[0]->p.meth.msn, 0);
}

}  // namespace
}  // namespace mrc::core
