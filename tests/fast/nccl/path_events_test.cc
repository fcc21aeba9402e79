// Which changes between two samples of a queue pair update a profiler's event.
#include "path_events.h"

#include <gtest/gtest.h>

namespace mrc::nccl {

namespace {

QpSample sample(uint64_t retransmits, const std::vector<EvSample>& evs) {
  QpSample s;
  s.qpn = 17;
  s.retransmits = retransmits;
  s.timeouts = 3;
  s.evs = evs;
  return s;
}

EvSample ev(int plane, const char* state) {
  EvSample e;
  e.plane = plane;
  e.state = state;
  return e;
}

TEST(PathEvents, update__nothing_while_all_planes_stay_good) {
  PathEvents events;
  EXPECT_FALSE(events.update(sample(0, {ev(1, "GOOD"), ev(2, "GOOD")})));
  EXPECT_FALSE(events.update(sample(0, {ev(1, "GOOD"), ev(2, "GOOD")})));
}

TEST(PathEvents, update__retransmissions_once_each) {
  PathEvents events;
  const auto first = events.update(sample(2, {ev(1, "GOOD")}));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, kProfileRetransmit);
  EXPECT_EQ(first->qp_num, 17);
  EXPECT_EQ(first->retransmits, 2u);
  EXPECT_EQ(first->timeouts, 3u);
  EXPECT_EQ(first->good_planes, 2u);
  EXPECT_FALSE(events.update(sample(2, {ev(1, "GOOD")})));
}

TEST(PathEvents, update__a_plane_is_good_while_any_of_its_paths_is) {
  PathEvents events;
  EXPECT_FALSE(events.update(sample(0, {ev(1, "ASSUMED_BAD"), ev(1, "GOOD"), ev(2, "GOOD")})));
  const auto failed = events.update(sample(0, {ev(1, "ASSUMED_BAD"), ev(1, "SKIP"), ev(2, "GOOD")}));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->type, kProfilePathChange);
  EXPECT_EQ(failed->good_planes, 4u);
  const auto returned = events.update(sample(1, {ev(1, "GOOD"), ev(2, "GOOD")}));
  ASSERT_TRUE(returned);
  EXPECT_EQ(returned->type, kProfilePathChange | kProfileRetransmit);
  EXPECT_EQ(returned->good_planes, 6u);
}

TEST(PathEvents, update__a_plane_that_is_out_from_the_start_is_a_change) {
  PathEvents events;
  const auto first = events.update(sample(0, {ev(1, "GOOD"), ev(2, "DENIED")}));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->type, kProfilePathChange);
}

TEST(PathEvents, update__planes_without_a_bit_are_left_out) {
  PathEvents events;
  EXPECT_FALSE(events.update(sample(0, {ev(0, "DENIED"), ev(64, "DENIED"), ev(63, "GOOD")})));
}

}  // namespace

}  // namespace mrc::nccl
