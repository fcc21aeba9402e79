#include "datapath/held_burst.h"

#include <gtest/gtest.h>

#include <string>

namespace mrc::datapath {
namespace {

std::string text_of(const core::TxBurst& burst) {
  std::string text;
  for (uint32_t i = 0; i < burst.iov_count; ++i)
    text.append(static_cast<const char*>(burst.iov[i].iov_base), burst.iov[i].iov_len);
  return text;
}

// Four segments "abc" "def" "ghi" "j" in pieces that end elsewhere.
class HeldBurstTest : public ::testing::Test {
 protected:
  HeldBurstTest() {
    from_.plane = 2_plane;
    from_.ev_index = 7_ev;
    from_.hop_limit = 5;
    from_.segments = 4;
    from_.segment_size = 3;
    from_.bytes = 10;
    size_t at = 0;
    for (const size_t length : {2, 0, 5, 3}) {
      from_.iov[from_.iov_count++] = {text_.data() + at, length};
      at += length;
    }
  }

  std::string text_ = "abcdefghij";
  core::TxBurst from_, to_;
  HeldBurst held_;
};

TEST_F(HeldBurstTest, is_a_copy_of_the_whole_burst) {
  held_.assign(from_);
  text_.assign(text_.size(), '-');
  held_.view(&to_);
  EXPECT_EQ(text_of(to_), "abcdefghij");
  EXPECT_EQ(to_.iov_count, 1u);
  EXPECT_EQ(to_.bytes, 10u);
  EXPECT_EQ(to_.segments, 4u);
  EXPECT_EQ(to_.segment_size, 3u);
  EXPECT_EQ(to_.plane, 2_plane);
  EXPECT_EQ(to_.ev_index, 7_ev);
  EXPECT_EQ(to_.hop_limit, 5u);
}

TEST_F(HeldBurstTest, leaves_out_what_was_sent_before_and_since) {
  const char* const left[] = {"abcdefghij", "defghij", "ghij", "j"};
  for (uint32_t before = 0; before < 4; ++before)
    for (uint32_t since = 0; before + since < 4; ++since) {
      held_.assign(from_, before);
      held_.drop(since);
      held_.view(&to_);
      EXPECT_EQ(text_of(to_), left[before + since]) << before << " " << since;
      EXPECT_EQ(to_.bytes, text_of(to_).size());
      EXPECT_EQ(to_.segments, 4 - before - since);
    }
}

TEST_F(HeldBurstTest, the_next_one_has_nothing_of_the_last) {
  held_.assign(from_, 1);
  held_.drop(1);
  from_.iov[0].iov_len = from_.bytes = 1;
  from_.iov_count = from_.segments = 1;
  held_.assign(from_);
  held_.view(&to_);
  EXPECT_EQ(text_of(to_), "a");
}

}  // namespace
}  // namespace mrc::datapath
