// The row at the head of a sender's FIFO: its slots arrive in any order, and their messages are posted in any order.
#include "row.h"

#include <gtest/gtest.h>

namespace mrc::nccl {

namespace {

// As a receiver writes a row of `count` slots, with tags 10, 11 and so on.
Row::Slots written(uint64_t number, uint32_t count) {
  Row::Slots slots{};
  for (uint32_t i = 0; i < count && i < slots.size(); ++i) {
    slots[i].tag = static_cast<int32_t>(10 + i);
    slots[i].count = count;
    slots[i].row = number;
  }
  return slots;
}

TEST(Row, read_count__returns_the_count_once_every_slot_has_the_number) {
  const Row row;
  for (uint32_t count = 1; count <= kMaxRecvs; ++count) {
    Row::Slots slots = written(1, count);
    EXPECT_EQ(row.read_count(slots), count);
    for (uint32_t missing = 0; missing < count; ++missing) {
      Row::Slots incomplete = slots;
      incomplete[missing].row = 0;
      EXPECT_EQ(row.read_count(incomplete), std::nullopt) << missing << " of " << count;
    }
  }
  EXPECT_EQ(row.read_count(Row::Slots{}), std::nullopt);
}

// Of the row before at the same place, or of one that comes kRows later.
TEST(Row, read_count__ignores_slots_of_other_rows) {
  const Row row;
  EXPECT_EQ(row.read_count(written(1 + kRows, 1)), std::nullopt);
  EXPECT_EQ(row.read_count(written(2, 1)), std::nullopt);
  Row::Slots slots = written(1, 2);
  slots[1].row = 1 + kRows;
  EXPECT_EQ(row.read_count(slots), std::nullopt);
  slots[1].row = 1;
  slots[2].row = 1 + kRows;  // not of this row
  EXPECT_EQ(row.read_count(slots), 2U);
}

TEST(Row, read_count__returns_a_count_that_is_out_of_range) {
  const Row row;
  for (const uint32_t count : {0U, 9U, UINT32_MAX}) {
    Row::Slots slots = written(1, 1);
    slots[0].count = count;
    EXPECT_EQ(row.read_count(slots), count);
    EXPECT_FALSE(Row::in_range(count));
  }
  EXPECT_TRUE(Row::in_range(1));
  EXPECT_TRUE(Row::in_range(8));
}

TEST(Row, find__returns_the_first_slot_of_the_tag_that_is_not_posted) {
  Row row;
  Row::Slots slots = written(1, 3);
  slots[2].tag = 10;
  EXPECT_EQ(row.find(slots, 10), -1);  // it has not begun
  row.begin(3);
  EXPECT_EQ(row.find(slots, 11), 1);
  EXPECT_EQ(row.find(slots, 12), -1);
  EXPECT_EQ(row.find(slots, 10), 0);
  row.post(0);
  EXPECT_EQ(row.find(slots, 10), 2);
  row.post(2);
  EXPECT_EQ(row.find(slots, 10), -1);
  EXPECT_EQ(row.find(slots, 11), 1);
}

TEST(Row, find__does_not_look_beyond_the_count) {
  Row row;
  row.begin(2);
  EXPECT_EQ(row.find(written(1, 3), 11), 1);
  EXPECT_EQ(row.find(written(1, 3), 12), -1);
}

TEST(Row, is_last__is_true_of_the_only_slot_that_is_not_posted) {
  Row row;
  row.begin(1);
  EXPECT_TRUE(row.is_last(0));
  row.begin(3);
  for (const int slot : {0, 1, 2}) EXPECT_FALSE(row.is_last(slot));
  row.post(1);
  for (const int slot : {0, 2}) EXPECT_FALSE(row.is_last(slot));
  row.post(2);
  EXPECT_TRUE(row.is_last(0));
}

TEST(Row, post__of_the_last_slot_takes_the_next_row) {
  Row row;
  for (uint64_t number = 1; number <= kRows + 1; ++number) {
    EXPECT_FALSE(row.begun());
    EXPECT_EQ(row.number(), number);
    EXPECT_EQ(row.place(), number % kRows);
    row.begin(kMaxRecvs);
    for (int slot = kMaxRecvs - 1; slot >= 0; --slot) {
      EXPECT_EQ(row.number(), number);
      EXPECT_EQ(row.count(), static_cast<uint32_t>(kMaxRecvs));
      EXPECT_EQ(row.is_last(slot), slot == 0);
      row.post(slot);
      row.check();
    }
  }
}

TEST(Row, begin__forgets_the_lanes_of_the_row_before) {
  Row row;
  row.begin(1);
  row.set_lanes(LaneSet(5));
  EXPECT_EQ(row.lanes(), LaneSet(5));
  row.post(0);
  row.begin(2);
  EXPECT_TRUE(row.lanes().none());
}

}  // namespace

}  // namespace mrc::nccl
