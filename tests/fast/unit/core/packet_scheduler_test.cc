// Which packet leaves next, without an endpoint. [MRC-REQ-2] [MRC-WIMM-3]
#include "core/packet_scheduler.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

using Next = PacketScheduler::Next;

constexpr uint32_t kMtu = 256;

class PacketSchedulerTest : public testing::Test {
 protected:
  PacketSchedulerTest() {
    queue_.init({8, 1, 1, 0});
    packets_.set_window(128);
  }
  void post(uint32_t length, SendOp op = SendOp::kWrite) {
    Sge sge{0x1000, length, Key(1)};
    SendWr wr;
    wr.op = op;
    wr.sges = &sge;
    wr.num_sge = 1;
    ASSERT_EQ(queue_.post(Instant(), wr, kMtu), PostResult::kOk);
  }
  Next next() { return packets_.next(kMtu, max_wimm_, false, &p_); }
  void send() {
    sent_.make_room(&pool_, 1, 256);
    if (packets_.retransmits()) {
      sent_.on_sent_again(Instant(), p_.seq, 0_ev, 1);
    } else {
      sent_.on_sent(Instant(), 0_ev, 1);
    }
    packets_.on_sent(p_);
  }
  // The sequence numbers of a burst without other limits.
  std::vector<uint64_t> burst() {
    std::vector<uint64_t> seqs;
    packets_.begin_burst();
    while ((end_ = next()) == Next::kPacket) {
      seqs.push_back(p_.seq);
      send();
    }
    return seqs;
  }
  using Seqs = std::vector<uint64_t>;

  TxWindowPool pool_;
  SendQueue queue_;
  SentPackets sent_;
  PacketScheduler packets_{&queue_, &sent_};
  PacketScheduler::Packet p_;
  Next end_ = Next::kNone;
  uint16_t max_wimm_ = 4;
};

TEST_F(PacketSchedulerTest, a_message_is_cut_into_packets) {
  post(2 * kMtu + 10);
  packets_.begin_burst();
  const wire::Opcode opcodes[] = {wire::Opcode::kWriteFirst, wire::Opcode::kWriteMiddle, wire::Opcode::kWriteLast};
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(next(), Next::kPacket);
    EXPECT_EQ(p_.opcode, opcodes[i]);
    EXPECT_EQ(p_.offset, i * kMtu);
    EXPECT_EQ(p_.payload, i < 2 ? kMtu : 10u);
    EXPECT_EQ(p_.bytes, wire::packet_bytes(opcodes[i], false, p_.payload));
    EXPECT_EQ(next(), Next::kPacket);  // the same until it is sent
    EXPECT_EQ(p_.seq, i);
    send();
  }
  EXPECT_EQ(next(), Next::kWindowClosed);
  EXPECT_FALSE(packets_.may_send());
}

TEST_F(PacketSchedulerTest, one_short_of_the_peers_window) {
  packets_.set_window(3);
  post(5 * kMtu);
  EXPECT_EQ(burst(), (Seqs{0, 1}));
  EXPECT_EQ(end_, Next::kWindowClosed);
  EXPECT_FALSE(packets_.on_cumulative(0));
  EXPECT_TRUE(packets_.on_cumulative(2));
  EXPECT_FALSE(packets_.on_cumulative(1));  // older
  EXPECT_EQ(burst(), (Seqs{2, 3}));
}

TEST_F(PacketSchedulerTest, lost_packets_first_and_never_beside_new_ones) {
  post(4 * kMtu);
  post(kMtu);
  packets_.set_window(5);
  EXPECT_EQ(burst(), (Seqs{0, 1, 2, 3}));
  sent_.on_lost(1, TraceTrigger::kOvertaken);
  sent_.on_lost(3, TraceTrigger::kOvertaken);
  packets_.on_cumulative(1);
  EXPECT_TRUE(packets_.may_send());
  EXPECT_EQ(burst(), (Seqs{1, 3}));
  EXPECT_TRUE(packets_.retransmits());
  EXPECT_EQ(end_, Next::kNone);
  EXPECT_EQ(burst(), (Seqs{4}));
  EXPECT_FALSE(packets_.retransmits());
}

TEST_F(PacketSchedulerTest, write_imms_wait_for_their_limit) {
  max_wimm_ = 1;
  post(2 * kMtu, SendOp::kWriteImm);
  post(8, SendOp::kWriteImm);
  EXPECT_EQ(burst(), (Seqs{0, 1}));  // the rest of the first one is not held up
  EXPECT_EQ(end_, Next::kWimmLimit);
  packets_.on_completed(queue_.front());
  queue_.pop_front();
  EXPECT_EQ(burst(), (Seqs{2}));
}

TEST_F(PacketSchedulerTest, a_write_imm_sent_again_is_not_counted_again) {
  max_wimm_ = 2;
  post(8, SendOp::kWriteImm);
  EXPECT_EQ(burst(), (Seqs{0}));
  sent_.on_lost(0, TraceTrigger::kTimedOut);
  EXPECT_EQ(burst(), (Seqs{0}));
  for (int i = 0; i < 2; ++i) post(8, SendOp::kWriteImm);
  EXPECT_EQ(burst(), (Seqs{1}));
  EXPECT_EQ(end_, Next::kWimmLimit);
}

TEST_F(PacketSchedulerTest, a_request_is_found_by_its_packet) {
  post(3 * kMtu);
  post(kMtu);
  EXPECT_EQ(packets_.request_of(2).first_seq, 0u);
  EXPECT_EQ(packets_.request_of(3).first_seq, 3u);
}

}  // namespace
}  // namespace mrc::core
