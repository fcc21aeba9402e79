// Writes that wait for memory of MRC's.
#include "mailbox/unposted_writes.h"

#include <gtest/gtest.h>

namespace mrc::shim {
namespace {

ibv_send_wr write_of(uint64_t id, ibv_sge* sges, int count) {
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.sg_list = sges;
  wr.num_sge = count;
  return wr;
}

TEST(UnpostedWrites, keep_a_list_and_its_pieces_in_order) {
  UnpostedWrites writes;
  {
    ibv_sge pieces[3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
    ibv_send_wr second = write_of(11, pieces + 1, 2);
    ibv_send_wr first = write_of(10, pieces, 1);
    first.next = &second;
    ASSERT_TRUE(writes.add(&first));
    for (ibv_sge& piece : pieces) piece = {};  // the caller's stack
  }
  EXPECT_EQ(writes.front()->wr_id, 10u);
  EXPECT_EQ(writes.front()->next, nullptr);
  EXPECT_EQ(writes.front()->sg_list[0].addr, 1u);
  writes.pop();
  EXPECT_EQ(writes.front()->wr_id, 11u);
  EXPECT_EQ(writes.front()->sg_list[1].addr, 7u);
  EXPECT_FALSE(writes.empty());
  writes.pop();
  EXPECT_TRUE(writes.empty());
}

TEST(UnpostedWrites, are_limited_until_all_were_taken) {
  UnpostedWrites writes;
  const ibv_send_wr one = write_of(0, nullptr, 0);
  for (int turn = 0; turn < 2; ++turn) {
    for (uint32_t i = 0; i < UnpostedWrites::kMax; ++i) ASSERT_TRUE(writes.add(&one));
    EXPECT_FALSE(writes.add(&one));
    while (!writes.empty()) writes.pop();
  }
  EXPECT_TRUE(writes.add(&one));
  writes.clear();
  EXPECT_TRUE(writes.empty());
}

TEST(UnpostedWrites, have_as_many_pieces_as_a_message_has) {
  UnpostedWrites writes;
  ibv_sge pieces[kMaxSegments + 2] = {};
  ibv_send_wr wr = write_of(0, pieces, kMaxSegments + 1);
  EXPECT_TRUE(writes.add(&wr));
  wr.num_sge = kMaxSegments + 2;
  EXPECT_FALSE(writes.add(&wr));
}

}  // namespace
}  // namespace mrc::shim
