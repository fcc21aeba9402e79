// The search for the size that a plane carries, without an endpoint. [MRC-MTU-2]
#include "core/path_mtu.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::core {
namespace {

constexpr Duration kRound = Duration::milliseconds(50);
constexpr Duration kInstantly = Duration::nanoseconds(1);
using Verdict = PathMtu::Verdict;

class PathMtuTest : public testing::Test {
 protected:
  std::vector<uint32_t> probes() {
    std::vector<uint32_t> sizes;
    while (const std::optional<PathMtu::Probe> p = mtu_.take_due(now_)) {
      EXPECT_EQ(p->new_round, p->mtu == 0);
      sizes.push_back(p->mtu);
    }
    return sizes;
  }
  Verdict conclude() {
    PlaneId plane;
    const Verdict v = mtu_.conclude(now_, &plane);
    EXPECT_EQ(plane, v != Verdict::kNone ? 1_plane : 0_plane);
    return v;
  }
  // One round in which probes up to `carries` are answered; silent: none at all.
  Verdict round(uint32_t carries, bool silent = false) {
    for (uint32_t size : probes())
      if (!silent && size <= carries) mtu_.on_answer(1_plane, size);
    now_ = now_ + kRound;
    return conclude();
  }

  Instant now_ = Instant::from_ns(1000);
  PathMtu mtu_{2, kRound};
};

TEST_F(PathMtuTest, take_due__asks_for_every_size_up_to_the_one_in_use) {
  EXPECT_TRUE(probes().empty());
  EXPECT_TRUE(mtu_.suspect(now_, 1_plane, 2048));
  EXPECT_EQ(probes(), (std::vector<uint32_t>{0, 256, 512, 1024, 2048, 2048, 2048, 2048, 2048}));
  EXPECT_TRUE(probes().empty());
  EXPECT_FALSE(mtu_.suspect(now_, 1_plane, 2048));
}

TEST_F(PathMtuTest, take_due__ends_with_the_size_in_use_though_it_is_no_standard_one) {
  mtu_.suspect(now_, 1_plane, 1500);
  EXPECT_EQ(probes(), (std::vector<uint32_t>{0, 256, 512, 1024, 1500, 1500, 1500, 1500, 1500}));
}

TEST_F(PathMtuTest, suspect__the_smallest_size_is_above_suspicion) {
  EXPECT_FALSE(mtu_.suspect(now_, 1_plane, PathMtu::kSmallest));
  EXPECT_TRUE(mtu_.suspect(now_, 1_plane, PathMtu::kSmallest + 4));
}

TEST_F(PathMtuTest, conclude__a_full_answer_ends_the_search_at_once) {
  mtu_.suspect(now_, 1_plane, 4096);
  probes();
  mtu_.on_answer(1_plane, 2048);
  EXPECT_EQ(conclude(), Verdict::kNone);
  mtu_.on_answer(1_plane, 4096);
  EXPECT_EQ(conclude(), Verdict::kPasses);
  EXPECT_EQ(mtu_.limit(1_plane), 0u);
  EXPECT_EQ(mtu_.next_time(), Instant::never());
}

TEST_F(PathMtuTest, conclude__three_rounds_without_a_full_answer_give_the_largest_of_all_of_them) {
  mtu_.suspect(now_, 1_plane, 4096);
  EXPECT_EQ(round(512), Verdict::kNone);
  EXPECT_EQ(round(1024), Verdict::kNone);
  EXPECT_EQ(mtu_.limit(1_plane), 0u);
  EXPECT_EQ(round(0), Verdict::kNarrow);
  EXPECT_EQ(mtu_.limit(1_plane), 1024u);
  EXPECT_EQ(mtu_.wanted(1_plane), 4096u);
  EXPECT_EQ(mtu_.limit(0_plane), 0u);
}

TEST_F(PathMtuTest, conclude__a_round_lasts_until_its_end) {
  mtu_.suspect(now_, 1_plane, 4096);
  const Instant begin = now_;
  for (uint32_t size : probes())
    if (size < 4096) mtu_.on_answer(1_plane, size);
  EXPECT_EQ(mtu_.next_time(), begin + kRound);
  now_ = begin + kRound - kInstantly;
  EXPECT_EQ(conclude(), Verdict::kNone);
  EXPECT_TRUE(probes().empty());
  now_ = begin + kRound;
  EXPECT_EQ(conclude(), Verdict::kNone);
  EXPECT_EQ(probes().size(), 5u + PathMtu::kFullProbes);
}

TEST_F(PathMtuTest, conclude__silence_proves_nothing) {
  mtu_.suspect(now_, 1_plane, 4096);
  EXPECT_EQ(round(0, true), Verdict::kNone);
  EXPECT_EQ(round(2048), Verdict::kNone);
  EXPECT_EQ(round(0, true), Verdict::kNone);
  EXPECT_EQ(round(0, true), Verdict::kUnknown);
  EXPECT_EQ(mtu_.limit(1_plane), 0u);
}

// Loss takes probes of any size; a limit takes only those above it.
TEST_F(PathMtuTest, conclude__rounds_with_a_gap_below_an_answer_are_loss_and_no_limit) {
  mtu_.suspect(now_, 1_plane, 4096);
  for (int i = 0; i < PathMtu::kMaxLossyRounds; ++i) {
    for (uint32_t size : probes())
      if (size == 0 || size == 1024) mtu_.on_answer(1_plane, size);
    now_ = now_ + kRound;
    EXPECT_EQ(conclude(), i + 1 < PathMtu::kMaxLossyRounds ? Verdict::kNone : Verdict::kUnknown) << i;
  }
  EXPECT_EQ(mtu_.limit(1_plane), 0u);
}

// [MRC-CHOICE-Q32]
TEST_F(PathMtuTest, conclude__a_peer_that_refuses_padding_is_not_judged) {
  mtu_.suspect(now_, 1_plane, 4096);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(round(0), Verdict::kNone);
  EXPECT_EQ(round(0), Verdict::kUnknown);
  EXPECT_EQ(mtu_.limit(1_plane), 0u);
}

TEST_F(PathMtuTest, suspect__a_plane_rests_after_a_search) {
  mtu_.suspect(now_, 1_plane, 4096);
  round(4096);
  now_ = now_ - kRound;  // it ended at the answer; round() has moved the clock since
  const Instant end = now_ + kRound;
  now_ = end + PathMtu::kSearchInterval - kInstantly;
  EXPECT_FALSE(mtu_.suspect(now_, 1_plane, 4096));
  EXPECT_TRUE(mtu_.suspect(now_, 0_plane, 4096));
  now_ = now_ + kInstantly;
  EXPECT_TRUE(mtu_.suspect(now_, 1_plane, 4096));
}

TEST_F(PathMtuTest, suspect__a_rest_concerns_the_size_that_was_searched) {
  mtu_.suspect(now_, 1_plane, 2048);
  round(2048);
  EXPECT_FALSE(mtu_.suspect(now_, 1_plane, 2048));
  EXPECT_TRUE(mtu_.suspect(now_, 1_plane, 4096));
}

TEST_F(PathMtuTest, take_due__a_narrow_plane_is_searched_again_until_full_packets_pass) {
  mtu_.suspect(now_, 1_plane, 4096);
  for (int i = 0; i < PathMtu::kRounds; ++i) round(1024);
  Duration rest = PathMtu::kSearchInterval * 2;
  for (int search = 0; search < 8; ++search) {
    EXPECT_EQ(mtu_.next_time(), now_ + rest) << search;
    now_ = now_ + rest - kInstantly;
    EXPECT_TRUE(probes().empty());
    now_ = now_ + kInstantly;
    for (int i = 0; i < PathMtu::kRounds; ++i) round(1024);
    EXPECT_EQ(mtu_.limit(1_plane), 1024u);
    rest = std::min(rest * 2, PathMtu::kSearchInterval * 64);
  }
  now_ = now_ + rest;
  round(4096);
  EXPECT_EQ(mtu_.limit(1_plane), 0u);
  EXPECT_EQ(mtu_.next_time(), Instant::never());
}

}  // namespace
}  // namespace mrc::core
