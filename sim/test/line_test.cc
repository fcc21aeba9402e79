// The timing of a line, without a simulation.
#include "sim/model/line.h"

#include <gtest/gtest.h>

namespace mrc::sim {
namespace {

constexpr double kRate = 100e9;  // 80 ps per byte
constexpr Ps kDelay = 1000 * kPsPerNs;

TEST(Line, send__serialises_then_propagates) {
  Line line(kRate, kDelay);
  EXPECT_EQ(line.free_at(), 0);
  line.send(5 * kPsPerNs, 1250);
  EXPECT_EQ(line.free_at(), 105 * kPsPerNs);
  EXPECT_EQ(line.arrival(), 1105 * kPsPerNs);
}

TEST(Line, send__at_the_rate_of_that_moment) {
  Line line(kRate, kDelay);
  EXPECT_FALSE(line.faulty());
  line.set_rate(kRate / 4);
  EXPECT_TRUE(line.faulty());
  line.send(0, 1250);
  EXPECT_EQ(line.free_at(), 400 * kPsPerNs);
  EXPECT_EQ(line.nominal_rate(), kRate);
  line.set_rate(line.nominal_rate());
  EXPECT_FALSE(line.faulty());
  EXPECT_EQ(line.free_at(), 400 * kPsPerNs) << "what is being sent keeps its time";
}

TEST(Line, arrival__a_decreasing_delay_does_not_reorder) {
  Line line(kRate, kDelay);
  line.set_extra_delay(5000 * kPsPerNs);
  EXPECT_TRUE(line.faulty());
  line.send(0, 1250);
  EXPECT_EQ(line.arrival(), 6100 * kPsPerNs);
  line.set_extra_delay(0);
  line.send(100 * kPsPerNs, 1250);
  EXPECT_EQ(line.arrival(), 6100 * kPsPerNs);
  line.send(5000 * kPsPerNs, 1250);
  EXPECT_EQ(line.arrival(), 6100 * kPsPerNs);
  line.send(6000 * kPsPerNs, 1250);
  EXPECT_EQ(line.arrival(), 7100 * kPsPerNs);
}

}  // namespace
}  // namespace mrc::sim
