// What one EV shows counts for all that cross the same link: suspected links are left together, and links are tested
// before data use them. Thresholds from both sides; times in microseconds of a made-up clock. [MRC-EVS-13..15]
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/peer_paths.h"

namespace mrc::core {
namespace {

Instant path_time(int64_t n) {
  return Instant::from_ns(n * 1000);
}

// Two planes of three T1s, four EVs each: EV i lies on plane i % 2 and crosses T1 i / 8.
class PeerPathsLinksTest : public testing::Test {
 protected:
  static constexpr int64_t kPlanes = 2, kT1s = 3;
  PeerPathsLinksTest() { make(kT1s); }
  void make(uint32_t t1s, uint32_t min_active = 0, uint32_t backup_t1s = 0) {
    config_ = EndpointConfig();
    PeerDescription peer;
    for (uint8_t p = 0; p < kPlanes; ++p) {
      config_.planes.push_back({IpAddress::v4(10, p, 0, 1), 4791});
      peer.planes.push_back({IpAddress::v4(10, p, 0, 2), 4791});
    }
    for (uint32_t i = 0; i < (t1s + backup_t1s) * 8; ++i)
      config_.evs.push_back({50000 + i, plane_at(i % 2), 1 + i / 8});
    config_.ev_active = t1s * 8;
    config_.ev_min_active = min_active;
    counters_ = Counters();
    names_.emplace(config_.evs);
    links_.emplace(config_.evs);
    paths_ = std::make_unique<PeerPaths>(config_, *names_, *links_, peer, &counters_, nullptr, &rng_);
  }
  void TearDown() override { paths_->check(); }

  static EvIndex at(uint32_t plane, uint32_t t1, uint32_t k) { return ev_at(t1 * 8 + k * 2 + plane); }
  void prove_all(int64_t sent = 1) {
    for (const EvIndex ev : config_.evs.ids()) paths_->on_delivered(path_time(sent), ev, path_time(sent));
  }
  void lose(EvIndex ev, int64_t sent) { paths_->on_lost(path_time(sent + 100), ev, path_time(sent)); }
  // All paths over it lose a packet each, while the plane delivers: over its last link, or the first if that is this
  // one.
  void fail(uint32_t plane, uint32_t t1, int64_t sent) {
    const uint32_t last = config_.ev_active / 8 - 1;
    paths_->on_delivered(path_time(sent + 9), at(plane, t1 == last ? 0 : last, 0), path_time(sent + 9));
    for (uint32_t k = 0; k < 4; ++k) lose(at(plane, t1, k), sent + k);
  }
  // The number of EVs over that link in the rotation.
  size_t used(uint32_t plane, uint32_t t1) {
    PathOrder order;
    paths_->draw_order(&order);
    return static_cast<size_t>(std::count_if(order.evs.begin(), order.evs.end(), [&](EvIndex ev) {
      return ev.value() / 8 == t1 && ev.value() % 2 == plane;
    }));
  }
  EvState state(EvIndex ev) { return paths_->status()[ev].state; }
  Duration interval() const { return config_.ev_probe_interval; }
  // The first probes of a connection at that time, in their order.
  std::vector<EvIndex> first_probes(Instant begin) {
    std::vector<EvIndex> evs;
    paths_->begin_first_probes(begin);
    while (paths_->next_probe_time() <= begin + interval() / 4)
      while (const std::optional<EvIndex> ev = paths_->take_due_probe(paths_->next_probe_time())) evs.push_back(*ev);
    return evs;
  }

  EndpointConfig config_;
  Counters counters_;
  Rng rng_{7};
  std::optional<EvNames> names_;
  std::optional<EvLinks> links_;
  std::unique_ptr<PeerPaths> paths_;
};

// [MRC-EVS-14]
TEST_F(PeerPathsLinksTest, losses_on_three_paths_make_their_link_suspected) {
  prove_all();
  lose(at(0, 1, 0), 10);
  lose(at(0, 1, 1), 11);
  EXPECT_EQ(used(0, 1), 4u);
  EXPECT_EQ(counters_.link_suspicions, 0u);
  const uint32_t before = paths_->generation();
  lose(at(0, 1, 2), 12);
  EXPECT_NE(paths_->generation(), before);
  EXPECT_EQ(counters_.link_suspicions, 1u);
  EXPECT_EQ(used(0, 1), 0u);
  EXPECT_EQ(used(0, 0) + used(0, 2), 8u);
  EXPECT_EQ(used(1, 1), 4u);  // the T1 of another plane is another switch
  // One path is asked for all of them.
  EXPECT_EQ(counters_.ev_assumed_bad, 1u);
  EXPECT_EQ(state(at(0, 1, 2)), EvState::kAssumedBad);
  EXPECT_EQ(paths_->take_due_probe(path_time(1000000)), at(0, 1, 2));
}

// [MRC-EVS-14]
TEST_F(PeerPathsLinksTest, an_answer_or_a_delivery_brings_all_paths_of_the_link_back) {
  prove_all();
  fail(0, 1, 10);
  ASSERT_EQ(used(0, 1), 0u);
  const Instant asked = paths_->next_probe_time();
  ASSERT_EQ(paths_->take_due_probe(asked), at(0, 1, 2));
  paths_->on_probe_lost(asked + interval(), at(0, 1, 2), asked);
  EXPECT_EQ(used(0, 1), 0u);
  const Instant again = paths_->next_probe_time();
  ASSERT_EQ(paths_->take_due_probe(again), at(0, 1, 2));
  paths_->on_probe_answer(again + Duration::microseconds(10), at(0, 1, 2), again);
  EXPECT_EQ(used(0, 1), 4u);
  prove_all(900000);
  fail(0, 1, 1000000);
  ASSERT_EQ(used(0, 1), 0u);
  const uint32_t before = paths_->generation();
  paths_->on_delivered(path_time(1000010), at(0, 1, 3), path_time(1000010));  // a late SACK of another of its paths
  EXPECT_NE(paths_->generation(), before);
  EXPECT_EQ(used(0, 1), 3u);  // all but the retired one, which is probed
}

// [MRC-EVS-14]
TEST_F(PeerPathsLinksTest, the_last_link_of_a_plane_is_not_suspected) {
  prove_all();
  fail(0, 0, 10);
  fail(0, 1, 20);
  EXPECT_EQ(counters_.link_suspicions, 2u);
  for (uint32_t k = 0; k < 3; ++k) lose(at(0, 2, k), 40 + k);
  EXPECT_EQ(counters_.link_suspicions, 2u);
  EXPECT_EQ(used(0, 2), 4u);
}

// [MRC-EVS-14] [MRC-EVS-6] Twenty-four EVs, four of each link.
TEST_F(PeerPathsLinksTest, enough_paths_are_left) {
  for (const uint32_t least : {20u, 21u}) {
    make(kT1s, least);
    prove_all();
    for (uint32_t k = 0; k < 3; ++k) lose(at(1, 0, k), 10 + k);
    EXPECT_EQ(counters_.link_suspicions, least == 20 ? 1u : 0u);
    EXPECT_EQ(used(1, 0), least == 20 ? 0u : 4u);
  }
  make(kT1s);  // a quarter
  prove_all();
  for (uint32_t plane = 0; plane < 2; ++plane)
    for (uint32_t t1 = 0; t1 < 2; ++t1) fail(plane, t1, 10 + 10 * t1);
  EXPECT_EQ(counters_.link_suspicions, 4u);
  EXPECT_EQ(used(0, 2) + used(1, 2), 8u);
}

// [MRC-EVS-14] Suspected EVs count as retired for the floor of single ones.
TEST_F(PeerPathsLinksTest, a_suspected_link_counts_for_the_floor) {
  make(kT1s, 19);
  prove_all();
  fail(0, 0, 10);
  ASSERT_EQ(used(0, 0), 0u);  // twenty are left
  paths_->on_timeout(path_time(20), at(1, 1, 0));
  paths_->on_timeout(path_time(20), at(1, 1, 1));
  EXPECT_EQ(state(at(1, 1, 0)), EvState::kAssumedBad);
  EXPECT_EQ(state(at(1, 1, 1)), EvState::kGood);
  paths_->on_timeout(path_time(20), at(0, 0, 0));  // not in use anyway
  EXPECT_EQ(state(at(0, 0, 0)), EvState::kAssumedBad);
}

// [MRC-EVS-14] Where all that is left is suspected or bad, the suspected ones are used rather than none.
TEST_F(PeerPathsLinksTest, suspected_paths_are_better_than_bad_ones) {
  make(2, 1);
  prove_all();
  fail(0, 0, 10);
  fail(1, 0, 10);
  for (uint32_t k = 0; k < 4; ++k)
    for (uint32_t plane = 0; plane < 2; ++plane) paths_->set_denied(path_time(20), at(plane, 1, k), true);
  EXPECT_EQ(used(0, 0), 3u);
  EXPECT_EQ(used(1, 0), 3u);
  EXPECT_EQ(used(0, 1), 0u);
}

// [MRC-EVS-14]
TEST_F(PeerPathsLinksTest, no_backup_of_a_suspected_link_is_drawn_in) {
  make(2, 1, 1);
  prove_all();
  for (uint32_t k = 0; k < 3; ++k) lose(at(0, 2, k), 10 + k);
  ASSERT_EQ(counters_.link_suspicions, 1u);
  paths_->on_timeout(path_time(20), at(0, 0, 0));
  paths_->on_timeout(path_time(20), at(1, 0, 0));
  for (uint32_t k = 0; k < 4; ++k) EXPECT_FALSE(paths_->status()[at(0, 2, k)].active);
  EXPECT_EQ(used(1, 2), 1u);
}

// [MRC-EVS-14] [MRC-EVS-9]
TEST_F(PeerPathsLinksTest, control_packets_avoid_it) {
  prove_all();
  paths_->on_delivered(path_time(19), at(0, 2, 0), path_time(19));
  paths_->on_delivered(path_time(2), at(0, 1, 3), path_time(2));  // the reverse EV of the plane
  for (uint32_t k = 0; k < 3; ++k) lose(at(0, 1, k), 10 + k);
  for (int i = 0; i < 20; ++i) EXPECT_NE(links_->of(*paths_->pick_control(1_planes)), links_->of(at(0, 1, 0)));
  paths_->on_inbound(path_time(50), 0_plane, config_.evs[at(0, 1, 3)].value);  // the peer uses it
  EXPECT_NE(links_->of(*paths_->pick_answer(1_planes)), links_->of(at(0, 1, 0)));
}

// [MRC-EVS-14]
TEST_F(PeerPathsLinksTest, administration_leaves_no_link_suspected_without_a_probe) {
  prove_all();
  fail(0, 1, 10);
  ASSERT_EQ(used(0, 1), 0u);
  paths_->set_denied(path_time(20), at(0, 1, 2), true);
  EXPECT_EQ(used(0, 1), 3u);
  prove_all(25);
  lose(at(0, 1, 0), 30);
  lose(at(0, 1, 1), 31);
  lose(at(0, 1, 2), 32);  // sent before it was denied: not the one that is probed
  EXPECT_EQ(used(0, 1), 3u);
}

TEST_F(PeerPathsLinksTest, oblivious_spraying_suspects_nothing) {
  config_.oblivious = true;
  prove_all();
  fail(0, 1, 10);
  EXPECT_EQ(counters_.link_suspicions, 0u);
  EXPECT_EQ(used(0, 1), 4u);
  paths_->begin_first_probes(path_time(50));
  EXPECT_EQ(paths_->next_probe_time(), Instant::never());
}

// [MRC-EVS-13] [MRC-EVS-4] [MRC-EVS-12]
TEST_F(PeerPathsLinksTest, a_path_of_a_link_that_has_delivered_is_not_unproven) {
  paths_->on_data_sent(path_time(10), at(0, 0, 0), 1, 64);
  paths_->on_data_sent(path_time(10), at(0, 1, 0), 1, 64);
  paths_->on_delivered(path_time(20), at(0, 0, 1), path_time(20));
  EXPECT_FALSE(paths_->take_wait(at(0, 0, 0)));
  EXPECT_TRUE(paths_->take_wait(at(0, 1, 0)));
  EXPECT_TRUE(paths_->take_wait(at(0, 1, 1)));   // it has carried nothing itself
  EXPECT_FALSE(paths_->take_wait(at(0, 2, 0)));  // nothing was sent over its link
  EXPECT_FALSE(paths_->take_wait(at(1, 1, 0)));
  lose(at(0, 0, 0), 15);
  EXPECT_EQ(state(at(0, 0, 0)), EvState::kGood);
  lose(at(0, 1, 0), 10);  // nothing was ever delivered over that one: a single loss is enough
  EXPECT_EQ(state(at(0, 1, 0)), EvState::kAssumedBad);
  EXPECT_EQ(counters_.link_suspicions, 1u);
  EXPECT_EQ(used(0, 1), 0u);
}

// [MRC-EVS-15]
TEST_F(PeerPathsLinksTest, each_link_is_probed_once_from_the_connection_on) {
  EXPECT_EQ(paths_->next_probe_time(), Instant::never());
  paths_->begin_first_probes(path_time(100));
  EXPECT_EQ(paths_->next_probe_time(), path_time(100) + interval() / 8);
  const std::vector<EvIndex> evs = first_probes(path_time(100));
  std::set<LinkIndex> links;
  for (const EvIndex ev : evs) links.insert(*links_->of(ev));
  EXPECT_EQ(evs.size(), 6u);
  EXPECT_EQ(links.size(), 6u);
  EXPECT_EQ(paths_->next_probe_time(), Instant::never());
  paths_->begin_first_probes(path_time(100000));  // another QP to the peer
  EXPECT_EQ(paths_->next_probe_time(), Instant::never());
}

// [MRC-EVS-15]
TEST_F(PeerPathsLinksTest, a_message_in_either_direction_ends_the_first_probes) {
  for (const bool inbound : {false, true}) {
    make(kT1s);
    paths_->begin_first_probes(path_time(100));
    const Instant first = paths_->next_probe_time();
    EXPECT_TRUE(paths_->take_due_probe(first));
    EXPECT_LT(paths_->next_probe_time(), Instant::never());
    if (inbound) {
      paths_->on_inbound(first, 0_plane, 50000);
      EXPECT_EQ(paths_->next_probe_time(), first + interval());  // the check of its planes
    } else {
      paths_->end_first_probes();
      EXPECT_EQ(paths_->next_probe_time(), Instant::never());
    }
    EXPECT_FALSE(paths_->take_due_probe(first + interval() / 2));
  }
}

// [MRC-EVS-15]
TEST_F(PeerPathsLinksTest, a_silent_first_probe_makes_its_link_suspected) {
  const std::vector<EvIndex> evs = first_probes(path_time(100));
  const EvIndex dead = evs[2];
  for (const EvIndex ev : evs)
    if (ev != dead) paths_->on_probe_answer(path_time(20010), ev, path_time(20000));
  EXPECT_TRUE(paths_->take_wait(dead));  // data that come before the verdict avoid it
  paths_->on_probe_lost(path_time(70000), dead, path_time(15000));
  EXPECT_EQ(used(dead.value() % 2, dead.value() / 8), 0u);
  EXPECT_EQ(counters_.link_suspicions, 1u);
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  paths_->on_probe_answer(path_time(70010), dead, path_time(15000), true);  // it was only late
  EXPECT_EQ(used(dead.value() % 2, dead.value() / 8), 4u);
}

// [MRC-EVS-15]
TEST_F(PeerPathsLinksTest, where_nothing_is_answered_the_peer_may_be_far_away) {
  const std::vector<EvIndex> evs = first_probes(path_time(100));
  for (size_t i = 0; i < evs.size(); ++i)
    paths_->on_probe_lost(path_time(70000), evs[i], path_time(15000 + static_cast<int64_t>(i)));
  EXPECT_EQ(counters_.ev_assumed_bad, 0u);
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  for (const EvIndex ev : evs) EXPECT_EQ(state(ev), EvState::kGood);
}

// [MRC-EVS-15] [MRC-EVS-5] Four silent links are a plane that carries nothing, three are not.
TEST_F(PeerPathsLinksTest, a_silent_plane_is_left_before_data_use_it) {
  for (const uint32_t t1s : {3u, 4u}) {
    make(t1s);
    const std::vector<EvIndex> evs = first_probes(path_time(100));
    for (const EvIndex ev : evs)
      if (ev.value() % 2 == 0) paths_->on_probe_answer(path_time(20010), ev, path_time(20000));
    int64_t sent = 15000;
    for (const EvIndex ev : evs)
      if (ev.value() % 2 == 1) paths_->on_probe_lost(path_time(70000), ev, path_time(++sent));
    EXPECT_EQ(counters_.plane_suspensions, t1s == 4 ? 1u : 0u);
    EXPECT_EQ(paths_->plane_usable(1_plane), t1s == 3);
  }
}

// [MRC-EVS-15]
TEST_F(PeerPathsLinksTest, a_first_probe_that_found_no_room_tests_nothing) {
  paths_->begin_first_probes(path_time(100));
  const Instant first = paths_->next_probe_time();
  const std::optional<EvIndex> ev = paths_->take_due_probe(first);
  ASSERT_TRUE(ev);
  paths_->on_probe_unsent(first, *ev);
  for (const EvIndex other : config_.evs.ids())
    if (links_->of(other) != links_->of(*ev)) paths_->on_delivered(path_time(20000), other, path_time(20000));
  EXPECT_FALSE(paths_->take_wait(*ev));
}

}  // namespace
}  // namespace mrc::core
