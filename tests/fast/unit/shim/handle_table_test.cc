// Handles of rdma_cm's ids and memberships.
#include "rdma_cm/handle_table.h"

#include <gtest/gtest.h>

namespace mrc::shim::rdma_cm {
namespace {

TEST(HandleTable, handles_begin_at_one_and_are_not_used_again_soon) {
  HandleTable<int> table;
  EXPECT_EQ(table.new_handle(), 1u);
  table.emplace(1, 10);
  EXPECT_EQ(table.new_handle(), 2u);
  table.emplace(2, 20);
  table.erase(1);
  EXPECT_EQ(table.new_handle(), 3u);
  EXPECT_EQ(table.find(1), table.end());
  EXPECT_EQ(table.at(2), 20);
}

TEST(HandleTable, a_handle_that_was_taken_otherwise_is_left_out) {
  HandleTable<int> table;
  table.emplace(1, 10);
  table.emplace(2, 20);
  EXPECT_EQ(table.new_handle(), 3u);
  EXPECT_EQ(table.size(), 2u);
}

}  // namespace
}  // namespace mrc::shim::rdma_cm
