// Evidence for and against EVs and planes, and the active set. Thresholds from both sides; times in microseconds of a
// made-up clock. [MRC-EVS-4..6] [MRC-EVS-11..14] [MRC-EVS-17..18]
#include "core/ev_health_table.h"

#include <gtest/gtest.h>

#include <optional>

namespace mrc::core {
namespace {

Instant health_time(int64_t n) {
  return Instant::from_ns(n * 1000);
}

// EV i lies on plane i % planes: four active ones per plane, then one backup per plane.
class EvHealthTableTest : public testing::Test {
 protected:
  EvHealthTableTest() { make(); }
  // The EVs, of one plane, cross so many links; 0: they name none.
  void make(size_t planes = 2, size_t active = 4, size_t backups = 1, uint32_t links = 0) {
    config_ = EndpointConfig();
    config_.planes.resize(planes);
    const size_t evs = (active + backups) * planes;
    for (uint32_t i = 0; i < evs; ++i) {
      const auto link = static_cast<uint32_t>(links == 0 ? 0 : 1 + i * links / evs);
      config_.evs.push_back({50000 + i, plane_at(i % planes), link});
    }
    config_.ev_active = static_cast<uint32_t>(active * planes);
    links_.emplace(config_.evs);
    table_.emplace(config_, *links_);
  }
  void TearDown() override { table_->check(); }

  EvHealthTable::Failed lose(EvIndex ev, int64_t sent) { return table_->on_lost(ev, health_time(sent)); }
  bool deliver(EvIndex ev, int64_t sent) { return table_->on_delivered(health_time(sent), ev, health_time(sent)); }
  void send(EvIndex ev, int64_t sent) { table_->on_data_sent(health_time(sent), ev, 1); }
  size_t active_on(PlaneId plane) {
    size_t n = 0;
    for (const EvIndex ev : table_->evs()) n += table_->active(ev) && table_->plane_of(ev) == plane;
    return n;
  }

  EndpointConfig config_;
  std::optional<EvLinks> links_;
  std::optional<EvHealthTable> table_;
};

// [MRC-EVS-4] [MRC-CHOICE-Q19]
TEST_F(EvHealthTableTest, losses_of_one_send_time_are_one_piece_of_evidence) {
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(lose(0_ev, 10).ev);
  EXPECT_EQ(table_->losses(0_ev), 5u);
  EXPECT_FALSE(lose(0_ev, 9).ev);  // sent before the one that counts
  EXPECT_TRUE(lose(0_ev, 11).ev);
  EXPECT_TRUE(lose(0_ev, 12).ev);  // as long as the owner has not followed it
  EXPECT_EQ(table_->state(0_ev), EvState::kGood);
}

TEST_F(EvHealthTableTest, a_delivery_between_two_losses_clears_the_first) {
  lose(0_ev, 10);
  deliver(0_ev, 10);  // sent no earlier than the lost one
  EXPECT_FALSE(lose(0_ev, 20).ev);
  lose(2_ev, 10);
  deliver(2_ev, 9);  // sent before it: no evidence
  EXPECT_TRUE(lose(2_ev, 20).ev);
}

// [MRC-EVS-18] All EVs of a plane lose what a receiver's full queue dropped, while nothing of the plane was delivered.
TEST_F(EvHealthTableTest, losses_in_a_gap_of_their_plane_are_one_piece_of_evidence) {
  deliver(2_ev, 10);
  deliver(2_ev, 500);
  for (const int64_t sent : {11, 200, 499}) EXPECT_FALSE(lose(0_ev, sent).ev);
  EXPECT_TRUE(lose(0_ev, 501).ev);
}

TEST_F(EvHealthTableTest, a_delivery_of_the_plane_between_two_losses_makes_them_two) {
  for (const int64_t sent : {10, 200, 700}) deliver(2_ev, sent);
  deliver(1_ev, 400);  // another plane
  lose(0_ev, 300);
  EXPECT_FALSE(lose(0_ev, 600).ev);
  lose(4_ev, 190);
  EXPECT_TRUE(lose(4_ev, 300).ev);
}

// One that was smaller counts when the larger one is more than 50 ms old.
TEST_F(EvHealthTableTest, the_largest_gap_lately_counts) {
  for (const int64_t more : {0, 1}) {
    make();
    for (const int64_t sent : {10, 1000, 30'000}) deliver(2_ev, sent);
    for (int64_t sent = 30'100; sent < 80'000; sent += 100) deliver(2_ev, sent);
    deliver(2_ev, 80'000 + more);
    lose(0_ev, 79'920);
    EXPECT_EQ(lose(0_ev, 79'980).ev, more == 0);
  }
}

// The ends of a gap were delivered: what was sent together with them is not in it.
TEST(PlaneHealthTest, in_gap__both_sides) {
  PlaneHealth plane;
  plane.on_delivered(health_time(10), health_time(10));
  EXPECT_FALSE(plane.in_gap(health_time(5), health_time(9)));  // nothing was delivered before
  plane.on_delivered(health_time(500), health_time(500));
  EXPECT_TRUE(plane.in_gap(health_time(11), health_time(499)));
  EXPECT_FALSE(plane.in_gap(health_time(10), health_time(499)));
  EXPECT_FALSE(plane.in_gap(health_time(11), health_time(500)));
  plane.on_delivered(health_time(989), health_time(989));  // a smaller one
  EXPECT_TRUE(plane.in_gap(health_time(11), health_time(499)));
  plane.on_delivered(health_time(1479), health_time(1479));  // as large: the later one counts
  EXPECT_FALSE(plane.in_gap(health_time(11), health_time(499)));
  EXPECT_TRUE(plane.in_gap(health_time(990), health_time(1478)));
}

// [MRC-EVS-18] The gap does not count for an EV of which one loss is enough: here 6 delivers nothing, 0 has before.
TEST_F(EvHealthTableTest, one_loss_in_a_gap_is_enough_of_an_ev_that_has_never_delivered) {
  for (const EvIndex ev : {0_ev, 6_ev}) send(ev, 5);
  deliver(0_ev, 5);
  deliver(2_ev, 10);
  deliver(2_ev, 500);
  EXPECT_FALSE(lose(0_ev, 200).ev);
  EXPECT_TRUE(lose(6_ev, 200).ev);
}

// [MRC-EVS-18] It counts for one that never carried data, and for one of a proven link.
TEST_F(EvHealthTableTest, losses_in_a_gap_are_one_of_an_ev_that_needs_two) {
  for (const bool link : {false, true}) {
    make(1, 8, 0, link ? 2 : 0);  // 0..3 cross one, 4..7 the other
    if (link) send(0_ev, 5);
    deliver(1_ev, 10);
    deliver(4_ev, 500);
    for (const int64_t sent : {200, 300}) EXPECT_FALSE(lose(0_ev, sent).ev) << link;
    EXPECT_TRUE(lose(0_ev, 501).ev) << link;
  }
}

TEST_F(EvHealthTableTest, losses_from_before_the_last_delivery_do_not_count) {
  deliver(0_ev, 50);
  for (const int64_t sent : {40, 50, 51}) EXPECT_FALSE(lose(0_ev, sent).ev);
  EXPECT_TRUE(lose(0_ev, 52).ev);
}

// [MRC-EVS-4]
TEST_F(EvHealthTableTest, the_first_loss_is_enough_of_an_ev_that_has_never_delivered) {
  for (const EvIndex ev : {0_ev, 2_ev, 6_ev}) send(ev, 10);
  EXPECT_FALSE(lose(6_ev, 10).ev);  // nothing on its plane has arrived: the peer may be further away than was assumed
  deliver(2_ev, 11);
  EXPECT_FALSE(table_->take_wait(6_ev));  // it has its verdict
  EXPECT_TRUE(lose(0_ev, 10).ev);
  EXPECT_FALSE(lose(2_ev, 12).ev);
  EXPECT_TRUE(lose(2_ev, 13).ev);
  EXPECT_FALSE(lose(4_ev, 10).ev);  // a probe: no data was sent on it
}

// [MRC-EVS-12]
TEST_F(EvHealthTableTest, an_ev_waits_for_the_verdict_on_its_first_packet) {
  EXPECT_FALSE(table_->take_wait(0_ev));
  send(0_ev, 10);
  send(0_ev, 20);
  EXPECT_FALSE(table_->take_wait(0_ev));
  deliver(1_ev, 30);  // on the other plane
  deliver(2_ev, 10);  // not sent later
  EXPECT_FALSE(table_->take_wait(0_ev));
  deliver(2_ev, 11);
  EXPECT_TRUE(table_->take_wait(0_ev));
  EXPECT_FALSE(table_->take_wait(2_ev));
  EXPECT_FALSE(table_->take_wait(4_ev));  // its first packet is yet to be sent
  deliver(0_ev, 10);
  EXPECT_FALSE(table_->take_wait(0_ev));
}

// [MRC-EVS-12]
TEST_F(EvHealthTableTest, without_a_verdict_the_wait_ends) {
  send(0_ev, 10);
  deliver(2_ev, 11);
  for (int i = 0; i < EvHealthTable::kMaxWaits; ++i) EXPECT_TRUE(table_->take_wait(0_ev));
  EXPECT_FALSE(table_->take_wait(0_ev));
  table_->restore(0_ev);
  send(0_ev, 12);
  deliver(2_ev, 13);
  EXPECT_TRUE(table_->take_wait(0_ev));
}

// [MRC-EVS-13] [MRC-EVS-12]
TEST_F(EvHealthTableTest, an_ev_waits_for_the_verdict_on_its_link) {
  make(1, 8, 0, 2);
  table_->on_probe_sent(health_time(10), 1_ev);
  deliver(4_ev, 11);
  EXPECT_TRUE(table_->take_wait(0_ev));
  table_->forget_link_test(1_ev);
  EXPECT_FALSE(table_->take_wait(0_ev));
  send(1_ev, 10);
  EXPECT_TRUE(table_->take_wait(0_ev));
  deliver(2_ev, 10);
  EXPECT_FALSE(table_->take_wait(0_ev));
}

TEST_F(EvHealthTableTest, oblivious_spraying_waits_for_nothing_and_blames_nothing) {
  config_.oblivious = true;
  send(4_ev, 10);
  deliver(2_ev, 20);
  EXPECT_FALSE(table_->take_wait(4_ev));
  for (int64_t sent = 30; sent < 50; ++sent) {
    const EvHealthTable::Failed failed = lose(0_ev, sent);
    EXPECT_FALSE(failed.ev || failed.link || failed.plane);
  }
  EXPECT_EQ(table_->losses(0_ev), 20u);
}

// [MRC-EVS-5]
TEST_F(EvHealthTableTest, four_losses_without_a_delivery_are_enough_against_the_plane) {
  const EvIndex evs[] = {0_ev, 2_ev, 4_ev};
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(lose(evs[i], 10 + i).plane);
  EXPECT_FALSE(lose(6_ev, 12).plane);  // sent together with the third
  EXPECT_FALSE(lose(1_ev, 13).plane);  // another plane
  EXPECT_TRUE(lose(6_ev, 13).plane);
  table_->clear_streak(0_plane);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(lose(evs[i], 20 + i).plane);
  EXPECT_TRUE(lose(6_ev, 23).plane);
}

// [MRC-EVS-5]
TEST_F(EvHealthTableTest, a_delivery_on_the_plane_starts_its_count_anew) {
  for (const EvIndex ev : {0_ev, 2_ev, 4_ev}) lose(ev, 10 + ev.value());
  deliver(6_ev, 13);  // sent before the last loss
  EXPECT_TRUE(lose(6_ev, 20).plane);
  deliver(6_ev, 20);
  for (const EvIndex ev : {0_ev, 2_ev, 4_ev}) EXPECT_FALSE(lose(ev, 40 + ev.value()).plane);
}

// [MRC-EVS-14] The evidence against links is LinkSuspicion's.
TEST_F(EvHealthTableTest, a_link_fails_with_three_of_its_evs) {
  make(1, 8, 0, 2);
  for (const EvIndex ev : {0_ev, 4_ev}) deliver(ev, 1);
  EXPECT_FALSE(lose(0_ev, 10).link);
  EXPECT_FALSE(lose(1_ev, 11).link);
  EXPECT_TRUE(lose(2_ev, 12).link);
  table_->retire(2_ev);
  table_->suspect_link(2_ev);
  EXPECT_FALSE(table_->good(3_ev));
  EXPECT_TRUE(table_->good(4_ev));
  EXPECT_FALSE(deliver(3_ev, 11));
  EXPECT_TRUE(deliver(3_ev, 12));
  EXPECT_TRUE(table_->good(3_ev));
}

// [MRC-EVS-15]
TEST_F(EvHealthTableTest, one_lost_probe_is_enough_against_a_link_that_has_delivered_nothing) {
  make(1, 8, 0, 2);
  deliver(4_ev, 1);
  EXPECT_TRUE(table_->on_link_probe_lost(0_ev, health_time(10)));
  EXPECT_FALSE(table_->on_link_probe_lost(4_ev, health_time(10)));
  EXPECT_EQ(table_->losses(0_ev), 1u);
}

// [MRC-EVS-17]
TEST_F(EvHealthTableTest, the_peer_ran_when_what_was_delivered_was_sent_or_later) {
  EXPECT_FALSE(table_->peer_ran_since(health_time(0)));
  deliver(1_ev, 20);
  deliver(0_ev, 10);
  EXPECT_TRUE(table_->peer_ran_since(health_time(20)));
  EXPECT_FALSE(table_->peer_ran_since(health_time(21)));
  EXPECT_EQ(table_->last_delivered_sent(0_plane), health_time(10));
}

// [MRC-EVS-11]
TEST_F(EvHealthTableTest, the_first_round_trip_counts_for_planes_without_one) {
  make(3);
  EXPECT_EQ(table_->plane_rtt(0_plane), Duration());
  table_->on_plane_rtt(1_ev, Duration::microseconds(80));
  for (const PlaneId plane : 7_planes) EXPECT_EQ(table_->plane_rtt(plane), Duration::microseconds(80));
  table_->on_plane_rtt(2_ev, Duration::microseconds(160));
  EXPECT_EQ(table_->plane_rtt(2_plane), Duration::microseconds(90));
  EXPECT_EQ(table_->plane_rtt(1_plane), Duration::microseconds(80));
  table_->on_plane_rtt(0_ev, Duration::milliseconds(3'600'000));  // bounded: loads are products of it
  EXPECT_LT(table_->plane_rtt(0_plane), Duration::milliseconds(1000));
}

TEST_F(EvHealthTableTest, oblivious_spraying_measures_no_plane) {
  config_.oblivious = true;
  table_->on_plane_rtt(1_ev, Duration::microseconds(80));
  EXPECT_EQ(table_->plane_rtt(1_plane), Duration());
}

TEST_F(EvHealthTableTest, status_shows_traffic_marks_rtt_and_losses) {
  table_->on_sent(1_ev, 3, 300);
  table_->on_sent(1_ev, 1, 100);
  table_->on_ecn(1_ev);
  table_->on_rtt(1_ev, Duration::microseconds(80));
  table_->on_rtt(1_ev, Duration::microseconds(160));
  table_->count_loss(1_ev);
  const EvStatus shown = table_->status()[1_ev];
  EXPECT_EQ(shown.value, 50001u);
  EXPECT_EQ(shown.plane, 1_plane);
  EXPECT_TRUE(shown.active);
  EXPECT_EQ(shown.state, EvState::kGood);
  EXPECT_EQ(shown.tx_packets, 4u);
  EXPECT_EQ(shown.tx_bytes, 400u);
  EXPECT_EQ(shown.ecn_marks, 1u);
  EXPECT_EQ(shown.rtt, Duration::microseconds(90));
  EXPECT_EQ(shown.losses, 1u);
  EXPECT_EQ(table_->take_unreported_losses(1_ev), 1u);
  EXPECT_EQ(table_->take_unreported_losses(1_ev), 0u);
}

// [MRC-EVS-8]
TEST_F(EvHealthTableTest, a_retired_ev_is_replaced_by_a_backup_of_its_plane) {
  EXPECT_TRUE(table_->retire(0_ev));
  EXPECT_EQ(table_->state(0_ev), EvState::kAssumedBad);
  EXPECT_FALSE(table_->active(0_ev));
  table_->activate_backup(0_plane);
  EXPECT_TRUE(table_->active(8_ev));
  EXPECT_FALSE(table_->active(9_ev));
  table_->activate_backup(0_plane);  // none is left, and plane 1 lends none
  EXPECT_EQ(active_on(0_plane), 4u);
  EXPECT_FALSE(table_->retire(9_ev));
  table_->activate_backup(1_plane);  // a bad one
  EXPECT_FALSE(table_->active(9_ev));
}

TEST_F(EvHealthTableTest, a_restored_ev_is_active_only_if_its_plane_is_short) {
  table_->retire(0_ev);
  table_->retire(2_ev);
  table_->activate_backup(0_plane);
  for (const EvIndex ev : {0_ev, 2_ev}) {
    table_->restore(ev);
    EXPECT_EQ(table_->state(ev), EvState::kGood);
    table_->activate_if_short(ev);
  }
  EXPECT_TRUE(table_->active(0_ev));
  EXPECT_FALSE(table_->active(2_ev));
  EXPECT_EQ(active_on(0_plane), 4u);
}

// Neither a retired nor a restored EV keeps a loss that was counted before.
TEST_F(EvHealthTableTest, a_verdict_starts_the_count_anew) {
  lose(0_ev, 10);
  table_->retire(0_ev);
  lose(0_ev, 20);
  table_->restore(0_ev);
  EXPECT_FALSE(lose(0_ev, 30).ev);
  EXPECT_TRUE(lose(0_ev, 40).ev);
}

// [MRC-EVS-7]
TEST_F(EvHealthTableTest, a_denied_ev_counts_as_replaced_only_if_it_was_in_use) {
  table_->retire(2_ev);
  EXPECT_TRUE(table_->deny(0_ev));
  EXPECT_FALSE(table_->deny(2_ev));
  EXPECT_FALSE(table_->deny(8_ev));
  for (const EvIndex ev : {0_ev, 2_ev, 8_ev}) {
    EXPECT_EQ(table_->state(ev), EvState::kDenied);
    EXPECT_FALSE(table_->active(ev));
  }
}

// [MRC-EVS-6] [MRC-EVS-14]
TEST_F(EvHealthTableTest, the_evs_in_use_are_active_good_on_usable_planes_and_of_no_suspected_link) {
  make(2, 6, 1, 2);  // 0..6 name T1 1, 7..13 the other
  EXPECT_EQ(table_->in_use(3_planes), 12u);
  EXPECT_EQ(table_->in_use(1_planes), 6u);
  EXPECT_EQ(table_->in_use({}), 0u);
  EXPECT_EQ(table_->in_use(3_planes, 0_ev), 8u);  // 0, 2, 4 and 6 share it
  table_->retire(0_ev);
  EXPECT_EQ(table_->in_use(3_planes), 11u);
  EXPECT_EQ(table_->in_use(3_planes, 0_ev), 8u);
  lose(0_ev, 10);
  table_->suspect_link(0_ev);
  EXPECT_EQ(table_->in_use(3_planes), 8u);
  EXPECT_EQ(table_->nominal_active(3_planes), 12u);
  EXPECT_EQ(table_->nominal_active(2_planes), 6u);
  EXPECT_EQ(table_->nominal_active(0b110_planes), 6u);  // of those that exist
}

}  // namespace
}  // namespace mrc::core
