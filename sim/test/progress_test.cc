// The texts of the progress; the clock is an argument.
#include "sim/helper/progress.h"

#include <gtest/gtest.h>

namespace mrc::sim {
namespace {

TEST(ProgressText, a_sweep_estimates_by_the_share_of_all_points) {
  EXPECT_EQ(sweep_progress_text(0, 60, 0, 5), "0 of 60 points, 0 %") << "nothing to estimate by";
  EXPECT_EQ(sweep_progress_text(0, 60, 0.05, 5), "0 of 60 points, 5 %, about 1 min 35 s left");
  EXPECT_EQ(sweep_progress_text(30, 60, 0.5, 20), "30 of 60 points, 50 %, about 20 s left");
  EXPECT_EQ(sweep_progress_text(6, 60, 0.1, 3600), "6 of 60 points, 10 %, about 9 h 0 min left");
  EXPECT_EQ(sweep_progress_text(60, 60, 1, 20), "60 of 60 points, 100 %, about 0 s left");
}

TEST(ProgressText, a_run_shows_its_speed) {
  EXPECT_EQ(run_progress_text(1500 * kPsPerUs, 3000000, 0.25, 2),
            "25 %, simulated 1.5 ms, 1.50 M events/s, about 6 s left");
}

}  // namespace
}  // namespace mrc::sim
