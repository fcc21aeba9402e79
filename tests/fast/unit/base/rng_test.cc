#include "base/rng.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc {
namespace {

// splitmix64 from seed 0 begins E220A8397B1DCDAF, 6E789E6AA1B965F4, 06C45D188009454F, F88BB8A8724C81EC; the first
// output of xoshiro256++ on that state follows from its definition: rotl(s0 + s3, 23) + s0.
TEST(Rng, first_output_follows_from_the_definition) {
  const uint64_t s0 = 0xE220A8397B1DCDAFu;
  const uint64_t s3 = 0xF88BB8A8724C81ECu;
  const uint64_t sum = s0 + s3;
  EXPECT_EQ(Rng(0).next(), ((sum << 23) | (sum >> 41)) + s0);
}

TEST(Rng, same_seed_same_stream_other_seed_other) {
  Rng a(7), b(7), c(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const uint64_t v = a.next();
    ASSERT_EQ(v, b.next());
    differs |= v != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Rng, below_is_in_range_and_even) {
  Rng rng(1);
  std::vector<int> seen(10);
  for (int i = 0; i < 100000; ++i) {
    const uint32_t v = rng.below(10);
    ASSERT_LT(v, 10u);
    ++seen[v];
  }
  for (int n : seen) EXPECT_NEAR(n, 10000, 600);  // six standard deviations
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.below(1), 0u);
}

TEST(Rng, unit_is_half_open) {
  Rng rng(2);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double v = rng.unit();
    ASSERT_TRUE(v >= 0 && v < 1);
    sum += v;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.006);
}

TEST(Rng, chance_at_its_ends) {
  Rng rng(3);
  int hits = 0;
  for (int i = 0; i < 100000; ++i) {
    ASSERT_FALSE(rng.chance(0));
    ASSERT_FALSE(rng.chance(-1));
    ASSERT_TRUE(rng.chance(1));
    hits += rng.chance(0.25) ? 1 : 0;
  }
  EXPECT_NEAR(hits, 25000, 850);
}

TEST(Rng, impossible_chance_draws_nothing) {
  // A fault that is switched off must not shift the stream of a seeded run.
  Rng a(4), b(4);
  EXPECT_FALSE(a.chance(0));
  EXPECT_EQ(a.next(), b.next());
}

}  // namespace
}  // namespace mrc
