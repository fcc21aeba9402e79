// Which of driver and pipes a receiver polls first, and when marked pipes become readable [MRC-LOCAL-4].
#include "datapath/local/poll_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace mrc::datapath {
namespace {

using Sources = std::vector<PollOrder::Source>;
constexpr auto kDriver = PollOrder::Source::kDriver;
constexpr auto kPipes = PollOrder::Source::kPipes;

Sources call(PollOrder* order, bool marked) {
  const auto sources = order->next_call(marked);
  return {sources.begin(), sources.end()};
}

TEST(PollOrder, next_call__the_driver_is_first_in_the_eighth_call_after_it_was_polled) {
  PollOrder order;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 7; ++i) EXPECT_EQ(call(&order, false), (Sources{kPipes, kDriver})) << round << " " << i;
    EXPECT_EQ(call(&order, false), (Sources{kDriver, kPipes})) << round;
    EXPECT_FALSE(order.driver_polled(1));
  }
}

TEST(PollOrder, next_call__a_poll_of_the_driver_behind_empty_pipes_restarts_the_count) {
  PollOrder order;
  for (int i = 0; i < 7; ++i) call(&order, false);
  EXPECT_FALSE(order.driver_polled(0));
  for (int i = 0; i < 7; ++i) EXPECT_EQ(call(&order, false), (Sources{kPipes, kDriver})) << i;
  EXPECT_EQ(call(&order, false), (Sources{kDriver, kPipes}));
}

TEST(PollOrder, next_call__the_driver_is_first_in_every_second_call_while_a_pipe_is_marked) {
  PollOrder order;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(call(&order, true), (Sources{kPipes, kDriver, kPipes})) << i;
    EXPECT_EQ(call(&order, true), (Sources{kDriver, kPipes})) << i;
    EXPECT_FALSE(order.driver_polled(1));
  }
  EXPECT_EQ(call(&order, false), (Sources{kPipes, kDriver}));
  EXPECT_EQ(call(&order, true), (Sources{kDriver, kPipes})) << "calls before the mark count";
}

TEST(PollOrder, driver_polled__marked_pipes_become_readable_when_the_driver_is_empty) {
  PollOrder order;
  call(&order, false);
  EXPECT_FALSE(order.driver_polled(0)) << "no pipe is marked";
  call(&order, true);
  EXPECT_FALSE(order.driver_polled(1));
  call(&order, true);
  EXPECT_TRUE(order.driver_polled(0));
}

TEST(PollOrder, driver_polled__marked_pipes_become_readable_at_the_64th_poll_that_returned_bursts) {
  PollOrder order;
  const auto polled = [&](bool marked, int bursts) {
    call(&order, marked);
    return order.driver_polled(bursts);
  };
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 63; ++i) ASSERT_FALSE(polled(true, 1)) << round << " " << i;
    EXPECT_FALSE(polled(false, 1)) << "does not count without a marked pipe";
    EXPECT_TRUE(polled(true, 1)) << round;
  }
  for (int i = 0; i < 63; ++i) ASSERT_FALSE(polled(true, 1)) << i;
  EXPECT_TRUE(polled(true, 0));
  for (int i = 0; i < 63; ++i) ASSERT_FALSE(polled(true, 1)) << i << ": an empty driver restarts the count";
  EXPECT_TRUE(polled(true, 1));
}

}  // namespace
}  // namespace mrc::datapath
