// Writes that are posted together.
#include "write_list.h"

#include <gtest/gtest.h>

namespace mrc::nccl {

namespace {

TEST(WriteList, add__links_the_writes_in_their_order) {
  WriteList writes;
  EXPECT_EQ(writes.size(), 0U);
  writes.add(7, {0x1000, 10, 1}, 0x5000, 3);
  writes.add(8, {0x2000, 20, 2}, 0x6000, 4);
  ASSERT_EQ(writes.size(), 2U);
  const ibv_send_wr& first = *writes.first();
  EXPECT_EQ(first.wr_id, 7U);
  ASSERT_EQ(first.num_sge, 1);
  EXPECT_EQ(first.sg_list->addr, 0x1000U);
  EXPECT_EQ(first.sg_list->length, 10U);
  EXPECT_EQ(first.sg_list->lkey, 1U);
  EXPECT_EQ(first.wr.rdma.remote_addr, 0x5000U);
  EXPECT_EQ(first.wr.rdma.rkey, 3U);
  ASSERT_NE(first.next, nullptr);
  const ibv_send_wr& second = *first.next;
  EXPECT_EQ(second.wr_id, 8U);
  EXPECT_EQ(second.sg_list->addr, 0x2000U);
  EXPECT_EQ(second.wr.rdma.remote_addr, 0x6000U);
  EXPECT_EQ(second.next, nullptr);
}

TEST(WriteList, add__of_length_0_writes_no_data) {
  WriteList writes;
  writes.add(1, {}, 0x5000, 3);
  EXPECT_EQ(writes.first()->num_sge, 0);
}

TEST(WriteList, end_with__is_an_immediate_of_the_last_write_alone) {
  WriteList writes;
  for (uint64_t id = 0; id < WriteList::kMax; ++id) writes.add(id, {0x1000, 1, 1}, 0x5000, 3);
  writes.end_with(0xABCDEF01);
  uint32_t seen = 0;
  for (const ibv_send_wr* wr = writes.first(); wr != nullptr; wr = wr->next, ++seen) {
    EXPECT_EQ(wr->wr_id, seen);
    EXPECT_EQ(wr->send_flags, unsigned{IBV_SEND_SIGNALED});
    EXPECT_EQ(wr->opcode, wr->next != nullptr ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM) << seen;
    if (wr->next == nullptr) EXPECT_EQ(wr->imm_data, 0xABCDEF01U);
  }
  EXPECT_EQ(seen, WriteList::kMax);
}

TEST(Protocol, a_message_of_full_packets_ends_without_data) {
  for (const uint32_t mtu : {256u, 1024u, 4096u, 8192u}) {
    EXPECT_TRUE(ends_without_data(0, mtu));
    EXPECT_FALSE(ends_without_data((64 << 10) - mtu, mtu));
    EXPECT_TRUE(ends_without_data(64 << 10, mtu));
    EXPECT_FALSE(ends_without_data((128 << 10) - 1, mtu));
    EXPECT_TRUE(ends_without_data(128 << 10, mtu));
    EXPECT_FALSE(ends_without_data((128 << 10) + 1, mtu));
  }
}

}  // namespace

}  // namespace mrc::nccl
