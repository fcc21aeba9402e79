#include "clock_ns.h"

#include <gtest/gtest.h>

namespace mrc::environment {
namespace {

TEST(ClockNs, ns_of__counts_seconds_beyond_32_bits_of_nanoseconds) {
  EXPECT_EQ(ns_of({0, 0}), 0);
  EXPECT_EQ(ns_of({0, 999999999}), 999999999);
  EXPECT_EQ(ns_of({5, 1}), 5000000001);
  EXPECT_EQ(ns_of({-1, 999999999}), -1);
}

}  // namespace
}  // namespace mrc::environment
