// Evidence for and against links. Thresholds from both sides; times in microseconds of a made-up clock. [MRC-EVS-13]
// [MRC-EVS-14]
#include "core/link_suspicion.h"

#include <gtest/gtest.h>

namespace mrc::core {
namespace {

Instant link_time(int64_t n) {
  return Instant::from_ns(n * 1000);
}

// EVs 0..3 cross one link of plane 0, 4..7 another one, 8 the only link of plane 1; 9 names none.
class LinkSuspicionTest : public testing::Test {
 protected:
  static PerEv<EvEntry> table() {
    PerEv<EvEntry> evs;
    for (uint32_t i = 0; i < 8; ++i) evs.push_back({50000 + i, 0_plane, 1 + i / 4});
    evs.push_back({50008, 1_plane, 1});
    evs.push_back({50009, 1_plane});
    return evs;
  }
  void prove() {
    EXPECT_FALSE(links_.on_delivered(0_ev, link_time(1)));
    EXPECT_FALSE(links_.on_delivered(4_ev, link_time(1)));
  }
  // Evidence enough?
  bool lose(EvIndex ev, int64_t sent, bool plane_works = true) {
    return links_.on_lost(ev, link_time(sent), plane_works);
  }
  void suspect_first() {
    for (const EvIndex ev : {0_ev, 1_ev, 2_ev}) lose(ev, 10 + ev.value());
    links_.suspect(0_ev);
  }
  void TearDown() override { links_.check(); }

  const EvLinks table_{table()};
  LinkSuspicion links_{table_};
};

TEST_F(LinkSuspicionTest, on_lost__three_evs_are_enough_two_are_not) {
  prove();
  EXPECT_FALSE(lose(0_ev, 10));
  EXPECT_FALSE(lose(0_ev, 11));  // the same EV counts once
  EXPECT_FALSE(lose(1_ev, 12));
  EXPECT_FALSE(lose(4_ev, 12));  // another link
  EXPECT_TRUE(lose(2_ev, 12));
  EXPECT_TRUE(lose(3_ev, 13));  // as long as the caller has not followed it
  links_.suspect(3_ev);
  EXPECT_FALSE(lose(3_ev, 14));
}

TEST_F(LinkSuspicionTest, on_lost__a_delivery_on_any_ev_of_the_link_refutes_it) {
  prove();
  lose(0_ev, 10);
  lose(1_ev, 11);
  EXPECT_FALSE(links_.on_delivered(3_ev, link_time(11)));  // sent no earlier than the last loss
  EXPECT_FALSE(lose(2_ev, 12));
  EXPECT_FALSE(lose(0_ev, 13));
  links_.on_delivered(3_ev, link_time(12));  // before the last loss
  EXPECT_TRUE(lose(1_ev, 14));
}

TEST_F(LinkSuspicionTest, on_lost__a_packet_sent_before_a_delivery_does_not_count) {
  links_.on_delivered(3_ev, link_time(20));
  for (const EvIndex ev : {0_ev, 1_ev, 2_ev}) EXPECT_FALSE(lose(ev, 20));
  EXPECT_FALSE(lose(0_ev, 21));
  EXPECT_FALSE(lose(1_ev, 21));
  EXPECT_TRUE(lose(2_ev, 21));
}

TEST_F(LinkSuspicionTest, on_lost__one_is_enough_where_nothing_was_ever_delivered) {
  EXPECT_FALSE(lose(0_ev, 10, false));  // the peer may be far away
  EXPECT_TRUE(lose(0_ev, 11));
  links_.on_delivered(5_ev, link_time(10));
  EXPECT_FALSE(lose(4_ev, 11));
}

TEST_F(LinkSuspicionTest, suspect__all_evs_of_the_link_until_a_delivery) {
  prove();
  suspect_first();
  for (const EvIndex ev : EvRange(10)) EXPECT_EQ(links_.suspected(ev), ev.value() < 4) << ev;
  EXPECT_FALSE(links_.on_delivered(3_ev, link_time(11)));  // sent before the last loss
  EXPECT_TRUE(links_.suspected(3_ev));
  EXPECT_TRUE(links_.on_delivered(3_ev, link_time(12)));
  EXPECT_FALSE(links_.suspected(0_ev));
  EXPECT_FALSE(lose(0_ev, 20));  // the count begins anew
  EXPECT_FALSE(lose(1_ev, 20));
  EXPECT_TRUE(lose(2_ev, 20));
}

TEST_F(LinkSuspicionTest, may_suspect__never_the_last_link_of_a_plane) {
  EXPECT_FALSE(links_.may_suspect(8_ev));
  EXPECT_FALSE(links_.may_suspect(9_ev));
  EXPECT_TRUE(links_.may_suspect(4_ev));
  suspect_first();
  EXPECT_FALSE(links_.may_suspect(4_ev));
  EXPECT_TRUE(links_.clear(2_ev));
  EXPECT_FALSE(links_.clear(2_ev));
  EXPECT_TRUE(links_.may_suspect(4_ev));
}

TEST_F(LinkSuspicionTest, tested_since__the_first_packet_until_the_verdict) {
  EXPECT_EQ(links_.tested_since(0_ev), Instant::never());
  links_.on_sent(link_time(5), 1_ev);
  links_.on_sent(link_time(6), 2_ev);
  EXPECT_EQ(links_.tested_since(0_ev), link_time(5));
  EXPECT_EQ(links_.tested_since(4_ev), Instant::never());
  EXPECT_FALSE(links_.proven(0_ev));
  links_.on_delivered(2_ev, link_time(6));
  EXPECT_TRUE(links_.proven(0_ev));
  EXPECT_EQ(links_.tested_since(0_ev), Instant::never());
  links_.on_sent(link_time(7), 4_ev);
  lose(4_ev, 7);
  EXPECT_EQ(links_.tested_since(5_ev), Instant::never());
  links_.clear(4_ev);  // as if nothing had been sent
  EXPECT_EQ(links_.tested_since(5_ev), Instant::never());
  links_.on_sent(link_time(9), 5_ev);
  EXPECT_EQ(links_.tested_since(5_ev), link_time(9));
}

TEST_F(LinkSuspicionTest, evs_without_a_link_are_ignored) {
  links_.on_sent(link_time(1), 9_ev);
  EXPECT_EQ(links_.tested_since(9_ev), Instant::never());
  EXPECT_FALSE(lose(9_ev, 10));
  EXPECT_FALSE(links_.on_delivered(9_ev, link_time(11)));
  EXPECT_FALSE(links_.suspected(9_ev) || links_.proven(9_ev) || links_.clear(9_ev));
}

}  // namespace
}  // namespace mrc::core
