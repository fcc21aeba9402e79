// Whether the progress thread leaves the work to a program that polls. [VRB-PRG-1]
#include "progress/application_activity.h"

#include <gtest/gtest.h>

namespace mrc::shim {
namespace {

void count_polls(ApplicationActivity* activity, int times) {
  for (int i = 0; i < times; ++i) activity->count_poll();
}

TEST(ApplicationActivity, spins_beside_armed__after_many_polls_since_the_last_arm) {
  ApplicationActivity activity;
  for (int i = 0; i < 2; ++i) {
    activity.note_arm();
    count_polls(&activity, 1024);
    EXPECT_FALSE(activity.spins_beside_armed(0));
    activity.count_poll();
    EXPECT_TRUE(activity.spins_beside_armed(0));
  }
}

TEST(ApplicationActivity, spins_beside_armed__while_it_polls_often) {
  ApplicationActivity activity;
  activity.note_arm();
  count_polls(&activity, 5000);
  const uint64_t seen = activity.polls();
  EXPECT_FALSE(activity.spins_beside_armed(seen));
  count_polls(&activity, 31);
  EXPECT_FALSE(activity.spins_beside_armed(seen));
  activity.count_poll();
  EXPECT_TRUE(activity.spins_beside_armed(seen));
}

}  // namespace
}  // namespace mrc::shim
