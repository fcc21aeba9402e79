#include "sim/model/deferred.h"

#include <gtest/gtest.h>

namespace mrc::sim {
namespace {

TEST(Deferred, drain__handles_in_order_what_is_added_meanwhile) {
  Deferred<int> deferred;
  EXPECT_TRUE(deferred.empty());
  for (int i = 0; i < 3; ++i) deferred.add(i);
  EXPECT_FALSE(deferred.empty());
  std::vector<int> handled;
  deferred.drain([&](int i) {
    handled.push_back(i);
    if (i < 4) deferred.add(i + 10);
    if (i == 10) deferred.add(99);
  });
  EXPECT_EQ(handled, (std::vector<int>{0, 1, 2, 10, 11, 12, 99}));
  EXPECT_TRUE(deferred.empty());
}

}  // namespace
}  // namespace mrc::sim
