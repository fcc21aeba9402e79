// The EVs that a QP's packets take in turn, and which plane and EV carries a control packet. [MRC-EVS-2] [MRC-EVS-9]
// [MRC-CHOICE-Q22]
#include "core/path_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "path_parts.h"

namespace mrc::core {
namespace {

// Three planes of four EVs: EV i lies on plane i % 3.
class PathChooserTest : public testing::Test, protected PathParts {
 protected:
  static constexpr uint8_t kPlanes = 3;
  PathChooserTest() : PathParts(kPlanes, 12, 49152, 1) {}
  void TearDown() override {
    health_->check();
    chooser_->check();
  }
  void suspend(PlaneId plane) {
    for (const EvIndex ev : health_->evs())
      if (health_->plane_of(ev) == plane) health_->retire(ev);
    use_.suspend(plane);
    use_.refresh({}, {});
  }
  int picked_plane(PlaneSet room) {
    const std::optional<EvIndex> ev = chooser_->pick_control(room);
    return ev ? health_->plane_of(*ev).value() : -1;
  }
  // Of a burst of datagrams, that is sent.
  int datagram_plane(PlaneSet room, uint32_t bytes) {
    const std::optional<EvIndex> ev = chooser_->pick_datagram(room);
    if (!ev) return -1;
    chooser_->on_datagrams_sent(*ev, bytes);
    return health_->plane_of(*ev).value();
  }
  EvIndex control() {
    const std::optional<EvIndex> ev = chooser_->pick_control(7_planes);
    EXPECT_TRUE(ev);
    return ev.value_or(EvIndex());
  }
  std::optional<EvIndex> answer() { return chooser_->pick_answer(7_planes); }
  int answered_plane(PlaneSet room) {
    const std::optional<EvIndex> ev = chooser_->pick_answer(room);
    return ev ? health_->plane_of(*ev).value() : -1;
  }
  PathOrder order(const EvChoice* choice = nullptr) {
    PathOrder drawn;
    chooser_->draw_order(&drawn, choice);
    return drawn;
  }
  std::set<EvIndex> lap(const EvChoice* choice = nullptr) {
    const PathOrder drawn = order(choice);
    return {drawn.evs.begin(), drawn.evs.end()};
  }
};

// [MRC-EVS-9] [MRC-EVS-20]
TEST_F(PathChooserTest, pick_control__takes_a_lossy_plane_before_bad_evs) {
  for (const EvIndex ev : health_->evs())
    if (health_->plane_of(ev) == 0_plane) health_->retire(ev);
  suspend(2_plane);
  use_.set_lossy(1_plane, true);
  use_.refresh({}, {});
  ASSERT_EQ(use_.usable(), 1_planes);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(picked_plane(7_planes), 1);
  EXPECT_EQ(picked_plane(0b101_planes), -1);  // it is only full for the moment
  for (const EvIndex ev : health_->evs())
    if (health_->plane_of(ev) == 1_plane) health_->retire(ev);
  std::set<int> picked;
  for (int i = 0; i < 6; ++i) picked.insert(picked_plane(7_planes));
  EXPECT_EQ(picked, (std::set<int>{0, 1, 2}));
}

// [MRC-EVS-2]
TEST_F(PathChooserTest, draw_order__is_drawn_for_each_qp) {
  std::set<std::vector<EvIndex>> seen;
  std::set<uint32_t> begins;
  for (int i = 0; i < 30; ++i) {
    PathOrder drawn;
    begins.insert(chooser_->draw_order(&drawn));
    ASSERT_EQ(drawn.runs.size(), 3u);
    EXPECT_EQ(drawn.planes, 7_planes);
    for (const PathOrder::Run& run : drawn.runs) {
      ASSERT_EQ(run.count, 4u);
      for (int k = 0; k < 4; ++k) EXPECT_EQ(health_->plane_of(drawn.evs[run.first + k]), run.plane);
    }
    EXPECT_EQ(std::set<EvIndex>(drawn.evs.begin(), drawn.evs.end()).size(), 12u);
    seen.insert(drawn.evs);
  }
  EXPECT_GT(seen.size(), 15u);
  EXPECT_EQ(begins, (std::set<uint32_t>{0, 1, 2}));
  health_->retire(0_ev);
  EXPECT_EQ(order().runs[0].count, 3u);
  EXPECT_EQ(order().runs[1].count, 4u);
}

TEST_F(PathChooserTest, draw_order__active_good_ones_of_usable_planes) {
  config_.ev_active = 9;
  make_parts();
  suspend(2_plane);
  health_->retire(0_ev);
  health_->deny(1_ev);
  EXPECT_EQ(lap(), (std::set<EvIndex>{3_ev, 4_ev, 6_ev, 7_ev}));
  EXPECT_EQ(order().planes, 3_planes);
}

TEST_F(PathChooserTest, draw_order__in_doubt_everything_but_denied_is_tried) {
  for (const EvIndex ev : health_->evs()) ev == 5_ev ? health_->retire(ev) : health_->deny(ev);
  EXPECT_EQ(lap(), (std::set<EvIndex>{5_ev}));
  health_->deny(5_ev);
  EXPECT_TRUE(lap().empty());
  EXPECT_EQ(chooser_->reverse(0_plane), std::nullopt);
}

// A plane that only one end has carries nothing, whatever the doubt.
TEST_F(PathChooserTest, draw_order__in_doubt_planes_that_are_down_are_tried_and_absent_ones_are_not) {
  use_.set_present(3_planes);
  use_.set_local({});
  use_.refresh({}, {});
  EXPECT_EQ(order().planes, 3_planes);
}

// [MRC-EVS-14] Where all that is left is suspected or bad, the suspected ones are used rather than none.
TEST_F(PathChooserTest, draw_order__suspected_ones_before_bad_ones) {
  for (const EvIndex ev : health_->evs()) config_.evs[ev].link = 1 + ev.value() / 6u;
  make_parts();
  for (const EvIndex ev : {0_ev, 1_ev, 2_ev}) {  // of each plane one
    health_->on_lost(ev, Instant::from_ns(10));
    health_->retire(ev);
    health_->suspect_link(ev);
  }
  EXPECT_EQ(lap(), (std::set<EvIndex>{6_ev, 7_ev, 8_ev, 9_ev, 10_ev, 11_ev}));
  for (size_t ev = 6; ev < 12; ++ev) health_->retire(ev_at(ev));
  EXPECT_EQ(lap(), (std::set<EvIndex>{3_ev, 4_ev, 5_ev}));
}

// [MRC-EVS-10]
TEST_F(PathChooserTest, draw_order__a_choice_takes_bad_ones_when_the_good_ones_are_too_few) {
  EvChoice choice;
  choice.allowed.assign(12, false);
  for (const EvIndex ev : {0_ev, 1_ev, 3_ev}) choice.allowed[ev] = true;
  health_->retire(0_ev);
  choice.min_active = 2;
  EXPECT_EQ(lap(&choice), (std::set<EvIndex>{1_ev, 3_ev}));
  choice.min_active = 3;
  EXPECT_EQ(lap(&choice), (std::set<EvIndex>{0_ev, 1_ev, 3_ev}));
}

TEST_F(PathChooserTest, draw_any__a_good_one_if_there_is_one) {
  for (const EvIndex ev : {0_ev, 3_ev, 6_ev}) health_->retire(ev);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(chooser_->draw_any(0_plane), 9_ev);
  health_->retire(9_ev);
  std::set<EvIndex> drawn;
  for (int i = 0; i < 40; ++i) drawn.insert(*chooser_->draw_any(0_plane));
  EXPECT_EQ(drawn, (std::set<EvIndex>{0_ev, 3_ev, 6_ev, 9_ev}));
  EXPECT_EQ(chooser_->draw_good(0_plane), std::nullopt);
  for (const EvIndex ev : {0_ev, 3_ev, 6_ev}) health_->deny(ev);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(chooser_->draw_any(0_plane), 9_ev);
  health_->deny(9_ev);
  EXPECT_EQ(chooser_->draw_any(0_plane), std::nullopt);
}

// [MRC-UD-3] Bursts whose lengths keep step with the planes load them evenly, too.
TEST_F(PathChooserTest, pick_datagram__the_plane_with_the_fewest_bytes) {
  uint32_t bytes[kPlanes] = {};
  for (int i = 0; i < 300; ++i) {
    const uint32_t burst = i % 3 == 0 ? 15000 : 1000;
    const std::optional<EvIndex> ev = chooser_->pick_datagram(7_planes);
    ASSERT_TRUE(ev);
    chooser_->on_datagrams_sent(*ev, burst);
    bytes[health_->plane_of(*ev).value()] += burst;
  }
  const auto [min, max] = std::minmax_element(std::begin(bytes), std::end(bytes));
  EXPECT_LE(*max - *min, 15000u);
}

TEST_F(PathChooserTest, pick_datagram__single_ones_take_the_planes_in_turn) {
  for (int i = 0; i < 9; ++i) EXPECT_EQ(datagram_plane(7_planes, 100), i % kPlanes);
}

TEST_F(PathChooserTest, pick_datagram__a_plane_that_was_full_or_out_does_not_make_up_for_it) {
  for (int i = 0; i < 10; ++i) EXPECT_NE(datagram_plane(0b011_planes, 1000), 2);
  int on_plane2 = 0;
  for (int i = 0; i < 9; ++i) on_plane2 += datagram_plane(7_planes, 1000) == 2;
  EXPECT_EQ(on_plane2, 3);
  suspend(1_plane);
  for (int i = 0; i < 10; ++i) EXPECT_NE(datagram_plane(7_planes, 1000), 1);
}

// Where no plane is good the others are tried as for control packets; what is full for the moment is waited for.
TEST_F(PathChooserTest, pick_datagram__bad_planes_when_there_is_no_good_one) {
  suspend(0_plane);
  suspend(1_plane);
  EXPECT_EQ(datagram_plane(0b011_planes, 1000), -1);
  EXPECT_EQ(datagram_plane(7_planes, 1000), 2);
  suspend(2_plane);
  EXPECT_NE(datagram_plane(0b011_planes, 1000), -1);
}

// What bad planes carry while there is no good one is no debt of the others.
TEST_F(PathChooserTest, pick_datagram__after_all_planes_were_bad_they_take_turns_again) {
  use_.refresh({}, 7_planes);
  for (int i = 0; i < 100; ++i) EXPECT_NE(datagram_plane(7_planes, i % 3 == 0 ? 60000 : 10), -1);
  use_.refresh({}, {});
  int on_plane[kPlanes] = {};
  for (int i = 0; i < 180; ++i) ++on_plane[datagram_plane(7_planes, 1000)];
  for (const int n : on_plane) EXPECT_GE(n, 20);
}

TEST_F(PathChooserTest, pick_control__planes_in_turn) {
  EXPECT_EQ(picked_plane(7_planes), 0);
  EXPECT_EQ(picked_plane(7_planes), 1);
  EXPECT_EQ(picked_plane(7_planes), 2);
  EXPECT_EQ(picked_plane(7_planes), 0);
  EXPECT_EQ(picked_plane(0b100_planes), 2);
}

// [MRC-EVS-9] [MRC-CHOICE-Q22]
TEST_F(PathChooserTest, pick_control__one_ev_of_each_plane) {
  EvIndex first[kPlanes];
  for (EvIndex& ev : first) ev = control();
  for (uint8_t i = 0; i < 12; ++i) EXPECT_EQ(control(), first[i % kPlanes]);
  for (uint8_t i = 0; i < kPlanes; ++i) EXPECT_EQ(chooser_->reverse(PlaneId(i)), first[i]);
  EXPECT_FALSE(chooser_->pick_control(0_planes));
}

// [MRC-EVS-9] All answers on one path would load it more than its neighbours.
TEST_F(PathChooserTest, pick_control__follows_what_is_delivered) {
  for (const EvIndex ev : {4_ev, 3_ev, 2_ev, 5_ev}) {
    chooser_->on_delivered(ev);
    EXPECT_EQ(chooser_->reverse(health_->plane_of(ev)), ev);
    std::set<EvIndex> picked;
    for (int i = 0; i < kPlanes; ++i) picked.insert(control());
    EXPECT_TRUE(picked.count(ev)) << ev;
  }
  health_->retire(5_ev);
  EXPECT_NE(chooser_->pick_control(0b100_planes), 5_ev);
  chooser_->on_delivered(5_ev);  // an answer that was late: the path is no better for it
  EXPECT_NE(chooser_->pick_control(0b100_planes), 5_ev);
}

// A failed plane has room because it is unused: taking it then would lose every answer of a busy sender.
TEST_F(PathChooserTest, pick_control__waits_for_good_planes_rather_than_take_a_suspended_one) {
  suspend(1_plane);
  EXPECT_EQ(picked_plane(0b10_planes), -1);
  EXPECT_EQ(picked_plane(0b110_planes), 2);
}

TEST_F(PathChooserTest, pick_control__waits_rather_than_take_a_plane_that_the_peer_called_down) {
  use_.refresh(0b110_planes, {});
  EXPECT_EQ(picked_plane(0b110_planes), -1);
  EXPECT_EQ(picked_plane(7_planes), 0);
}

TEST_F(PathChooserTest, pick_control__takes_any_plane_when_none_is_good) {
  use_.set_local({});
  use_.refresh({}, {});
  EXPECT_EQ(picked_plane(0b100_planes), 2);
}

// [MRC-EVS-9] [MRC-MRCD-6] Who denies a path wants nothing on it: not even when all others are bad.
TEST_F(PathChooserTest, pick_control__never_a_denied_one) {
  for (const EvIndex ev : health_->evs()) ev == 5_ev ? health_->retire(ev) : health_->deny(ev);
  for (int i = 0; i < 2 * kPlanes; ++i) EXPECT_EQ(control(), 5_ev);
  health_->deny(5_ev);
  EXPECT_EQ(chooser_->pick_control(7_planes), std::nullopt);
  health_->restore(4_ev);
  for (int i = 0; i < 2 * kPlanes; ++i) EXPECT_EQ(control(), 4_ev);
}

// [MRC-EVS-9] The peer leaves a failed plane first, so its packets show which planes carry answers.
TEST_F(PathChooserTest, pick_answer__takes_the_plane_that_the_last_request_came_by) {
  for (uint8_t plane : {2, 0, 0, 1}) {
    chooser_->on_inbound(PlaneId(plane), 1);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(answered_plane(7_planes), plane);
  }
}

TEST_F(PathChooserTest, pick_answer__takes_another_plane_when_that_one_has_no_room_or_is_bad) {
  chooser_->on_inbound(1_plane, 1);
  EXPECT_EQ(answered_plane(0b101_planes), 0);
  EXPECT_EQ(answered_plane(0b101_planes), 2);
  suspend(1_plane);
  EXPECT_NE(answered_plane(7_planes), 1);
  EXPECT_EQ(answered_plane(0b10_planes), -1);  // waits, as for any control packet
}

TEST_F(PathChooserTest, pick_answer__takes_the_path_of_the_same_name) {
  chooser_->on_inbound(1_plane, 49152 + 4);
  EXPECT_EQ(answer(), 4_ev);
  chooser_->on_inbound(1_plane, 49152 + 10);
  EXPECT_EQ(answer(), 10_ev);
  chooser_->on_inbound(1_plane, 49152 + 3);  // which lies on plane 0 here
  EXPECT_EQ(answer(), 10_ev);
  health_->retire(10_ev);
  chooser_->on_inbound(1_plane, 49152 + 10);
  EXPECT_NE(answer(), 10_ev);
}

// Where the EV's upper half names the path, the port in its lower half differs from host to host.
TEST_F(PathChooserTest, pick_answer__names_are_the_upper_halves_where_there_are_any) {
  for (size_t i = 0; i < config_.evs.size(); ++i)
    config_.evs[i].value = static_cast<uint32_t>((1 + i / kPlanes) << 16 | (40000 + i));
  make_parts();
  chooser_->on_inbound(2_plane, 3u << 16 | 50000);
  EXPECT_EQ(answer(), ev_at(2 + 2 * kPlanes));
}

}  // namespace
}  // namespace mrc::core
