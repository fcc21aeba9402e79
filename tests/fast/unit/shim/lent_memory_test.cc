// How long a region stays lent. [VRB-RSP-10]
#include "mailbox/lent_memory.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace mrc::shim {
namespace {

struct Region {
  Loan loan = std::make_shared<char>();
  std::weak_ptr<void> lent = loan;
  // Its owner deregisters it: what is left are loans.
  bool returned() {
    loan.reset();
    return lent.expired();
  }
};

TEST(LentMemory, a_loan_ends_with_its_request_and_no_other) {
  LentMemory memory;
  Region region;
  memory.add(7, region.loan);
  memory.complete(6);
  EXPECT_FALSE(region.returned());
  memory.complete(7);
  EXPECT_TRUE(region.returned());
}

TEST(LentMemory, nothing_is_lent_for_a_request_without_data) {
  LentMemory memory;
  for (uint64_t i = 0; i < 2 * kWindow; ++i) memory.add(i, nullptr);
  EXPECT_FALSE(memory.full());
}

TEST(LentMemory, is_full_with_a_window_of_loans) {
  LentMemory memory;
  Region region;
  for (uint64_t i = 0; i < kWindow; ++i) {
    EXPECT_FALSE(memory.full());
    memory.add(i, region.loan);
  }
  EXPECT_TRUE(memory.full());
  memory.complete(0);
  EXPECT_FALSE(memory.full());
  memory.add(kWindow, region.loan);
  for (uint64_t i = 1; i < kWindow; ++i) memory.complete(i);
  EXPECT_FALSE(region.returned());
  memory.complete(kWindow);
  EXPECT_TRUE(region.returned());
}

TEST(LentMemory, the_rest_ends_with_the_connection) {
  LentMemory memory;
  Region first, last;
  memory.add(0, first.loan);
  memory.add_until_clear(last.loan);
  memory.complete(0);
  EXPECT_TRUE(first.returned());
  EXPECT_FALSE(last.returned());
  memory.clear();
  EXPECT_TRUE(last.returned());
}

TEST(LentMemory, a_region_counts_once_towards_those_lent_until_the_end) {
  LentMemory memory;
  Region first;
  memory.add_until_clear(nullptr);
  for (uint32_t i = 0; i < 2 * kWindow; ++i) memory.add_until_clear(first.loan);
  std::vector<Region> others(kWindow);
  for (Region& r : others) memory.add_until_clear(r.loan);
  EXPECT_FALSE(others[kWindow - 2].returned());
  EXPECT_TRUE(others[kWindow - 1].returned());  // more than kWindow regions
  memory.clear();
  EXPECT_TRUE(first.returned());
}

}  // namespace
}  // namespace mrc::shim
