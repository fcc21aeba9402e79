#include "ctl/ev_table.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "profiles.h"

namespace mrc::ctl {
namespace {

TEST(EvTable, starts_unpopulated_and_fills_in_order) {
  EvTable table;
  table.assign_unpopulated(3);
  EXPECT_EQ(table.unpopulated(), 3u);
  EXPECT_EQ(table.entries()[0].state, MRC_CTL_EV_UNKNOWN);
  for (uint16_t i = 1; i <= 3; ++i) EXPECT_EQ(table.replace(kNone, ev_of(i), MRC_CTL_EV_GOOD, false), 0);
  EXPECT_EQ(table.unpopulated(), 0u);
  EXPECT_EQ(table.replace(kNone, ev_of(4), MRC_CTL_EV_GOOD, false), ENOENT);
  for (uint16_t i = 0; i < 3; ++i) EXPECT_TRUE(same(table.entries()[i].ev, ev_of(static_cast<uint16_t>(i + 1))));
}

TEST(EvTable, value_zero_on_a_port_is_an_ev) {
  EvTable table;
  table.assign_unpopulated(1);
  ASSERT_EQ(table.replace(kNone, ev_of(0, 1), MRC_CTL_EV_GOOD, false), 0);
  EXPECT_EQ(table.unpopulated(), 0u);
  EXPECT_FALSE(is_unpopulated(table.entries()[0].ev));
}

TEST(EvTable, one_copy_or_all) {
  EvTable table;
  table.assign({ev_of(1), ev_of(2), ev_of(1), ev_of(1)});
  ASSERT_EQ(table.replace(ev_of(1), ev_of(9), MRC_CTL_EV_DENIED, false), 0);
  EXPECT_TRUE(same(table.entries()[0].ev, ev_of(9)));
  EXPECT_TRUE(same(table.entries()[2].ev, ev_of(1)));
  ASSERT_EQ(table.replace(ev_of(1), ev_of(9), MRC_CTL_EV_GOOD, true), 0);
  EXPECT_EQ(table.replace(ev_of(1), ev_of(9), MRC_CTL_EV_GOOD, true), ENOENT);
  EXPECT_EQ(table.entries()[0].state, MRC_CTL_EV_DENIED);
  EXPECT_TRUE(same(table.entries()[3].ev, ev_of(9)));
}

TEST(EvTable, by_itself_only_the_state_changes) {
  EvTable table;
  table.assign({ev_of(1), ev_of(1)});
  ASSERT_EQ(table.replace(ev_of(1), ev_of(1), MRC_CTL_EV_DENIED, true), 0);
  EXPECT_EQ(table.entries()[0].state, MRC_CTL_EV_DENIED);
  EXPECT_EQ(table.entries()[1].state, MRC_CTL_EV_DENIED);
}

TEST(EvTable, states_of_copies) {
  EvTable table;
  table.assign({ev_of(1), ev_of(1), ev_of(1)});
  EXPECT_EQ(table.set_state(ev_of(1), MRC_CTL_EV_DENIED, false), 0);
  EXPECT_EQ(table.set_state(ev_of(1), MRC_CTL_EV_DENIED, false), 0);
  int denied = 0;
  for (const EvTable::Entry& entry : table.entries()) denied += entry.state == MRC_CTL_EV_DENIED;
  EXPECT_EQ(denied, 2);
  EXPECT_EQ(table.set_state(ev_of(1), MRC_CTL_EV_GOOD, true), 0);
  for (const EvTable::Entry& entry : table.entries()) EXPECT_EQ(entry.state, MRC_CTL_EV_GOOD);
  EXPECT_EQ(table.set_state(ev_of(2), MRC_CTL_EV_GOOD, true), ENOENT);
  mrc_ctl_ev_state state;
  EXPECT_EQ(table.state_of(ev_of(2), &state), ENOENT);
}

// [MRC-PROF-7]
TEST(EvTable, paths_do_not_lift_a_deny) {
  EvTable table;
  table.assign({ev_of(1), ev_of(1), ev_of(2)});
  ASSERT_EQ(table.set_state(ev_of(1), MRC_CTL_EV_DENIED, false), 0);
  EXPECT_TRUE(table.feed_state(ev_of(1), MRC_CTL_EV_ASSUMED_BAD));
  EXPECT_FALSE(table.feed_state(ev_of(1), MRC_CTL_EV_ASSUMED_BAD));
  EXPECT_TRUE(table.feed_state(ev_of(1), MRC_CTL_EV_GOOD));
  EXPECT_FALSE(table.feed_state(ev_of(3), MRC_CTL_EV_GOOD));
  EXPECT_EQ(table.entries()[0].state, MRC_CTL_EV_DENIED);
}

// A controller fills its profiles one call at a time: with a scan per call this would be 10^10 steps.
TEST(EvTable, a_hundred_thousand_entries_one_by_one) {
  EvTable table;
  constexpr uint32_t kMany = 100000;
  table.assign_unpopulated(kMany);
  for (uint32_t i = 0; i < kMany; ++i) {
    mrc_ctl_ev ev = ev_of(static_cast<uint16_t>(i));
    ev.val[2] = static_cast<uint8_t>(i >> 16);
    ASSERT_EQ(table.replace(kNone, ev, MRC_CTL_EV_GOOD, false), 0);
  }
  EXPECT_EQ(table.unpopulated(), 0u);
}

}  // namespace
}  // namespace mrc::ctl
