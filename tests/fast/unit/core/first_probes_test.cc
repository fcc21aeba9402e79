// Order and times of the first probes. [MRC-EVS-15]
#include "core/first_probes.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::core {
namespace {

Instant probe_time(int64_t n) {
  return Instant::from_ns(n * 1000);
}

TEST(FirstProbes, take__each_link_once_one_after_the_other) {
  FirstProbes probes;
  EXPECT_FALSE(probes.begun());
  EXPECT_EQ(probes.next_time(), Instant::never());
  probes.begin(probe_time(100), 4, 2, Duration::microseconds(40));
  std::vector<uint16_t> links;
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_EQ(probes.next_time(), probe_time(100 + 10 * step));
    EXPECT_EQ(probes.take(probes.next_time() - Duration::nanoseconds(1)), std::nullopt);
    links.push_back(probes.take(probes.next_time())->value());
    probes.check();
  }
  EXPECT_EQ(links, (std::vector<uint16_t>{2, 3, 0, 1}));
  EXPECT_EQ(probes.take(probe_time(10000)), std::nullopt);
  EXPECT_EQ(probes.next_time(), Instant::never());
}

TEST(FirstProbes, begin__once) {
  FirstProbes probes;
  probes.begin(probe_time(100), 2, 0, Duration::microseconds(40));
  probes.begin(probe_time(200), 8, 0, Duration::microseconds(40));
  EXPECT_EQ(probes.began(), probe_time(100));
  EXPECT_TRUE(probes.take(probe_time(120)));
  EXPECT_TRUE(probes.take(probe_time(120)));
  EXPECT_FALSE(probes.take(probe_time(1000)));
}

TEST(FirstProbes, end__data_take_over) {
  FirstProbes probes;
  probes.begin(probe_time(100), 8, 0, Duration::microseconds(80));
  EXPECT_TRUE(probes.take(probe_time(100)));
  probes.end();
  EXPECT_FALSE(probes.take(probe_time(1000)));
  EXPECT_EQ(probes.next_time(), Instant::never());
  EXPECT_TRUE(probes.begun());
}

TEST(FirstProbes, postpone__the_rest_follows_in_its_steps) {
  FirstProbes probes;
  probes.begin(probe_time(100), 8, 0, Duration::microseconds(80));
  probes.postpone(probe_time(150));
  EXPECT_FALSE(probes.take(probe_time(149)));
  EXPECT_TRUE(probes.take(probe_time(150)));
  EXPECT_EQ(probes.next_time(), probe_time(160));
  probes.postpone(probe_time(155));
  EXPECT_EQ(probes.next_time(), probe_time(160));
}

}  // namespace
}  // namespace mrc::core
