#include "invariant.h"

#include <gtest/gtest.h>

namespace mrc {
namespace {

TEST(InvariantDeathTest, a_violation_aborts_with_its_text) {
  EXPECT_DEATH(invariant_failed("a <= b", "file.h", 7), "file.h:7: invariant violated: a <= b");
}

TEST(InvariantPace, cheap_checks_are_always_due_and_others_now_and_then) {
  InvariantPace pace;
  int due = 0;
  for (int i = 0; i < 640; ++i) {
    EXPECT_TRUE(pace.due(16));
    due += pace.due(17);
  }
  EXPECT_EQ(due, 10);
}

TEST(InvariantPace, expensive_checks_are_due_seldom_enough_to_cost_little) {
  InvariantPace pace;
  int due = 0;
  for (int i = 0; i < 10000; ++i) due += pace.due(4000, 4);
  EXPECT_EQ(due, 10);
}

}  // namespace
}  // namespace mrc
