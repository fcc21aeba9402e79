// The frequency of writing the state file. [MRC-MRCD-7]
#include "save_pace.h"

#include <gtest/gtest.h>

#include "at.h"

namespace mrc::mrcd {
namespace {

TEST(SavePace, the_first_at_once_the_next_after_a_pause) {
  SavePace pace;
  EXPECT_TRUE(pace.due(at(0)));
  pace.wrote(at(0), at(2));
  EXPECT_FALSE(pace.due(at(101)));
  EXPECT_TRUE(pace.due(at(102)));
}

TEST(SavePace, slow_writing_is_a_tenth_of_the_time_at_most) {
  SavePace pace;
  pace.wrote(at(0), at(50));
  EXPECT_FALSE(pace.due(at(549)));
  EXPECT_TRUE(pace.due(at(550)));
}

}  // namespace
}  // namespace mrc::mrcd
