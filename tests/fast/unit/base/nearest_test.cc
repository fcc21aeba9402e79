#include "base/nearest.h"

#include <gtest/gtest.h>

namespace mrc {
namespace {

TEST(Nearest, half_of_the_word_may_be_wrong) {
  EXPECT_EQ(nearest("ev_cuont", {"name", "ev_count"}), "ev_count");
  EXPECT_EQ(nearest("abcd", {"abxy"}), "abxy");
  EXPECT_EQ(nearest("abcd", {"axyz"}), "");
  EXPECT_EQ(nearest("", {"a"}), "");
  EXPECT_EQ(nearest("rnu", {"sweep", "run"}), "run");  // two neighbours swapped are one edit
  EXPECT_EQ(nearest("unr", {"run"}), "");
}

}  // namespace
}  // namespace mrc
