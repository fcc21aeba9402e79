// The effect of a list of faults on each port.
#include "fault.h"

#include <gtest/gtest.h>

#include "two_planes.h"

namespace mrc::fabric {
namespace {

class Condition : public ::testing::Test {
 protected:
  PortCondition of(const std::string& port, const Json& faults) const {
    const Link& l = topology_.link(port);
    return condition_of(faults, l, port_name(l.lower) == port ? l.lower : l.upper);
  }
  const Topology topology_ = two_planes();
};

TEST_F(Condition, a_link_falls_by_its_upper_end) {
  const Json faults = {{"h0:p1", {{"link", "down"}}}};
  EXPECT_TRUE(of("p1-t0-0:h0", faults).down);
  EXPECT_FALSE(of("h0:p1", faults).down);
  EXPECT_FALSE(of("p1-t0-0:h1", faults).down);
}

TEST_F(Condition, a_port_falls_where_it_is_taken_down) {
  const Json faults = {{"h0:p1", {{"port", "down"}}}, {"p0-t1-0:t0-1", {{"port", "down"}}}};
  EXPECT_TRUE(of("h0:p1", faults).down);
  EXPECT_FALSE(of("p1-t0-0:h0", faults).down);
  EXPECT_TRUE(of("p0-t1-0:t0-1", faults).down);
  EXPECT_FALSE(of("p0-t0-1:t1-0", faults).down);
}

TEST_F(Condition, a_switch_falls_with_all_its_ports) {
  const Json faults = {{"p0-t0-1", {{"switch", "down"}}}};
  EXPECT_TRUE(of("p0-t0-1:h2", faults).down);
  EXPECT_TRUE(of("p0-t0-1:t1-1", faults).down);
  EXPECT_FALSE(of("p0-t1-1:t0-1", faults).down);
}

TEST_F(Condition, loss_has_a_direction) {
  const auto lossy = [&](const char* direction) {
    return Json{{"p0-t0-0:t1-1", {{"loss", 0.25}, {"direction", direction}}}};
  };
  EXPECT_EQ(of("p0-t0-0:t1-1", lossy("up")).loss, 0.25);
  EXPECT_EQ(of("p0-t1-1:t0-0", lossy("up")).loss, 0);
  EXPECT_EQ(of("p0-t0-0:t1-1", lossy("down")).loss, 0);
  EXPECT_EQ(of("p0-t1-1:t0-0", lossy("down")).loss, 0.25);
  EXPECT_EQ(of("p0-t0-0:t1-1", lossy("both")).loss, 0.25);
  EXPECT_EQ(of("p0-t1-1:t0-0", lossy("both")).loss, 0.25);
}

TEST_F(Condition, a_rate_holds_in_both_directions) {
  const Json faults = {{"h3:p0", {{"rate", 1e8}}}};
  EXPECT_EQ(of("h3:p0", faults).rate, 1e8);
  EXPECT_EQ(of("p0-t0-1:h3", faults).rate, 1e8);
  EXPECT_EQ(of("h3:p1", faults).rate, 0);
}

TEST(Loss, the_classifier_compares_a_random_number) {
  EXPECT_EQ(loss_bytecode(0.5), "4,32 0 0 4294963256,53 1 0 2147483648,6 0 0 2,6 0 0 0");
  EXPECT_EQ(loss_bytecode(1), "4,32 0 0 4294963256,53 1 0 4294967295,6 0 0 2,6 0 0 0");
  EXPECT_EQ(loss_bytecode(0), "4,32 0 0 4294963256,53 1 0 0,6 0 0 2,6 0 0 0");
}

}  // namespace
}  // namespace mrc::fabric
