// Health of the EVs towards one peer: what retires a path, what brings it back, and what administration does.
// Thresholds from both sides; times in microseconds of a made-up clock. [MRC-EVS-1..9]
#include "core/peer_paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

namespace mrc::core {
namespace {

Instant us(int64_t n) {
  return Instant::from_ns(n * 1000);
}

// EV i lies on plane i % planes: four active ones per plane, then one backup per plane.
class PeerPathsTest : public testing::Test {
 protected:
  void make(int planes = 2, int active = 4, int backups = 1, uint32_t min_active = 1, int peer_planes = 32) {
    config_ = EndpointConfig();
    PeerDescription peer;
    for (int p = 0; p < planes; ++p) {
      config_.planes.push_back({IpAddress::v4(10, static_cast<uint8_t>(p), 0, 1), 4791});
      if (p < peer_planes) peer.planes.push_back({IpAddress::v4(10, static_cast<uint8_t>(p), 0, 2), 4791});
    }
    for (int i = 0; i < (active + backups) * planes; ++i)
      config_.evs.push_back({static_cast<uint32_t>(50000 + i), plane_at(i % planes)});
    config_.ev_active = static_cast<uint32_t>(active * planes);
    config_.ev_min_active = min_active;
    peer_ = peer;
    make_paths();
  }
  void make_paths() {
    counters_ = Counters();
    names_.emplace(config_.evs);
    links_.emplace(config_.evs);
    paths_ = std::make_unique<PeerPaths>(config_, *names_, *links_, peer_, &counters_, nullptr, &rng_);
  }
  // The EVs, of one plane, cross so many links.
  void name_links(uint32_t links) {
    const size_t evs = config_.evs.size();
    for (const EvIndex ev : config_.evs.ids())
      config_.evs[ev].link = static_cast<uint32_t>(1 + ev.value() * links / evs);
    make_paths();
  }
  void SetUp() override { make(); }

  EvState state(EvIndex ev) { return paths_->status()[ev].state; }
  bool active(EvIndex ev) { return paths_->status()[ev].active; }
  size_t active_on(PlaneId plane) {
    size_t n = 0;
    for (const EvStatus& s : paths_->status()) n += s.active && s.plane == plane;
    return n;
  }
  PathOrder order() {
    PathOrder drawn;
    paths_->draw_order(&drawn);
    return drawn;
  }
  std::vector<EvIndex> lap() { return order().evs; }
  bool carries(EvIndex ev) {
    const auto drawn = lap();
    return std::find(drawn.begin(), drawn.end(), ev) != drawn.end();
  }
  // The peer reports its ports, and what it calls down answers no probe.
  void ports(PlaneSet up) {
    paths_->on_port_status(us(0), up);
    while (paths_->take_due_probe(us(0))) {
    }
    paths_->take_due_probe(us(0) + PortClaims::kProbeTimeout);
    paths_->forget_probes();
  }
  // The EV of the next control packet, which is expected to leave.
  EvIndex control() { return control(3_planes); }
  EvIndex control(PlaneSet room) {
    const std::optional<EvIndex> ev = paths_->pick_control(room);
    EXPECT_TRUE(ev);
    return ev.value_or(EvIndex());
  }
  void lose(EvIndex ev, int64_t sent) { paths_->on_lost(us(sent + 100), ev, us(sent)); }
  Duration interval() const { return config_.ev_probe_interval; }

  EndpointConfig config_;
  PeerDescription peer_;
  Counters counters_;
  Rng rng_{7};
  std::optional<EvNames> names_;
  std::optional<EvLinks> links_;
  std::unique_ptr<PeerPaths> paths_;
};

// [MRC-EVS-4] [MRC-CHOICE-Q19]
TEST_F(PeerPathsTest, losses_of_one_send_time_are_one_piece_of_evidence) {
  for (int i = 0; i < 5; ++i) lose(0_ev, 10);
  EXPECT_EQ(state(0_ev), EvState::kGood);
  EXPECT_EQ(paths_->status()[0].losses, 5u);
  lose(0_ev, 11);
  EXPECT_EQ(state(0_ev), EvState::kAssumedBad);
  EXPECT_EQ(counters_.ev_assumed_bad, 1u);
  EXPECT_FALSE(carries(0_ev));
}

// [MRC-EVS-18] [MRC-EVS-14] Three EVs of a link in one gap of its plane, and two.
TEST_F(PeerPathsTest, a_link_is_suspected_for_losses_in_a_gap_until_something_is_delivered_over_it) {
  for (const uint32_t lost : {2u, 3u}) {
    make(1, 8, 0);
    name_links(2);
    paths_->on_delivered(us(10), 1_ev, us(10));
    paths_->on_delivered(us(10), 4_ev, us(10));
    paths_->on_delivered(us(500), 4_ev, us(500));
    for (const EvIndex ev : EvRange(lost)) lose(ev, 200);
    EXPECT_EQ(counters_.link_suspicions, lost == 3 ? 1u : 0u);
    EXPECT_EQ(carries(3_ev), lost != 3);
    paths_->on_delivered(us(200), 3_ev, us(200));
    EXPECT_TRUE(carries(3_ev));
  }
}

TEST_F(PeerPathsTest, one_timeout_is_enough_and_so_is_always_skip) {
  paths_->on_timeout(us(1), 0_ev);
  paths_->on_always_skip(us(1), 1_ev);
  EXPECT_EQ(state(0_ev), EvState::kAssumedBad);
  EXPECT_EQ(state(1_ev), EvState::kAssumedBad);
  EXPECT_EQ(counters_.ev_assumed_bad, 2u);
  paths_->on_timeout(us(2), 0_ev);  // bad already: no second transition
  EXPECT_EQ(counters_.ev_assumed_bad, 2u);
}

// [MRC-EVS-8]
TEST_F(PeerPathsTest, a_backup_of_the_same_plane_takes_over) {
  ASSERT_FALSE(active(8_ev));
  ASSERT_FALSE(active(9_ev));
  paths_->on_timeout(us(1), 0_ev);
  EXPECT_TRUE(active(8_ev));
  EXPECT_FALSE(active(9_ev));
  EXPECT_EQ(active_on(0_plane), 4u);
  paths_->on_timeout(us(2), 2_ev);  // none is left on plane 0, and plane 1 lends none
  EXPECT_EQ(active_on(0_plane), 3u);
  EXPECT_EQ(active_on(1_plane), 4u);
}

TEST_F(PeerPathsTest, a_bad_backup_is_not_drawn_in) {
  paths_->on_always_skip(us(1), 8_ev);
  EXPECT_EQ(state(8_ev), EvState::kAssumedBad);
  paths_->on_timeout(us(2), 0_ev);
  EXPECT_FALSE(active(8_ev));
  EXPECT_EQ(active_on(0_plane), 3u);
}

// [MRC-EVS-6]
TEST_F(PeerPathsTest, no_transition_below_the_least_number_of_active_evs) {
  make(2, 4, 0, 7);
  paths_->on_timeout(us(1), 0_ev);  // eight to seven
  EXPECT_EQ(state(0_ev), EvState::kAssumedBad);
  paths_->on_timeout(us(1), 1_ev);
  paths_->on_always_skip(us(1), 2_ev);
  lose(3_ev, 10);
  lose(3_ev, 20);
  for (const EvIndex ev : {1_ev, 2_ev, 3_ev}) EXPECT_EQ(state(ev), EvState::kGood) << ev;
  EXPECT_EQ(counters_.ev_assumed_bad, 1u);
  paths_->set_denied(us(2), 1_ev, true);  // administration is not bound by it
  EXPECT_EQ(state(1_ev), EvState::kDenied);
}

TEST_F(PeerPathsTest, the_least_number_is_a_quarter_unless_set) {
  make(1, 8, 0, 0);
  for (const EvIndex ev : EvRange(8)) paths_->on_timeout(us(1), ev);
  EXPECT_EQ(active_on(0_plane), 2u);
}

TEST_F(PeerPathsTest, planes_out_of_use_count_neither_for_the_floor_nor_against_it) {
  make(4, 8, 0, 0, 3);  // the peer has three
  ports(0b1011_planes);
  paths_->set_local_planes(0b1101_planes);  // plane 0 alone is left, with eight EVs
  for (size_t ev = 0; ev < 32; ev += 4) paths_->on_timeout(us(1), ev_at(ev));
  EXPECT_EQ(active_on(0_plane), 2u);
  for (const EvIndex ev : lap()) EXPECT_EQ(paths_->plane_of(ev), 0_plane);
  paths_->set_local_planes(0b1111_planes);  // sixteen in two planes: two are a quarter no more
  paths_->on_probe_answer(us(900), 0_ev, us(800));
  EXPECT_EQ(active_on(0_plane), 3u);
  for (size_t ev = 1; ev < 32; ev += 4) paths_->on_timeout(us(1000), ev_at(ev));
  EXPECT_EQ(active_on(0_plane) + active_on(1_plane), 4u);
}

// [MRC-EVS-7] [MRC-CHOICE-Q21]
TEST_F(PeerPathsTest, denied_from_every_state_and_left_by_administration_alone) {
  paths_->on_timeout(us(1), 2_ev);
  for (const EvIndex ev : {0_ev, 2_ev, 8_ev}) {  // GOOD, ASSUMED_BAD, backup
    paths_->set_denied(us(2), ev, true);
    EXPECT_EQ(state(ev), EvState::kDenied);
    EXPECT_FALSE(active(ev));
    EXPECT_FALSE(carries(ev));
    paths_->on_delivered(us(100), ev, us(100));
    paths_->on_probe_answer(us(101), ev, us(100));
    lose(ev, 200);
    lose(ev, 300);
    paths_->on_timeout(us(400), ev);
    paths_->on_always_skip(us(400), ev);
    paths_->on_probe_lost(us(500), ev, us(450));
    EXPECT_EQ(state(ev), EvState::kDenied) << ev;
  }
  EXPECT_FALSE(paths_->take_due_probe(us(1000000)));  // a denied path is not asked either
  paths_->set_denied(us(600), 0_ev, false);
  EXPECT_EQ(state(0_ev), EvState::kGood);
  EXPECT_TRUE(active(0_ev));  // its plane is short
  paths_->set_denied(us(600), 0_ev, false);
  EXPECT_EQ(counters_.ev_recovered, 1u);
}

TEST_F(PeerPathsTest, a_denied_ev_is_replaced_too) {
  paths_->set_denied(us(1), 1_ev, true);
  EXPECT_TRUE(active(9_ev));
  EXPECT_EQ(active_on(1_plane), 4u);
  paths_->set_denied(us(2), 1_ev, false);
  EXPECT_EQ(active_on(1_plane), 4u);
  EXPECT_FALSE(active(1_ev));  // the plane has what it needs: it waits as a backup
}

// [MRC-EVS-8]
TEST_F(PeerPathsTest, a_bad_path_is_probed_soon_then_periodically) {
  paths_->on_timeout(us(0), 0_ev);
  const Instant first = paths_->next_probe_time();
  EXPECT_GE(first, us(0) + interval() / 8);
  EXPECT_LE(first, us(0) + interval() / 8 + interval() / 4 + Duration::nanoseconds(1));
  EXPECT_FALSE(paths_->take_due_probe(first - Duration::nanoseconds(1)));
  EXPECT_EQ(paths_->take_due_probe(first), 0_ev);
  EXPECT_FALSE(paths_->take_due_probe(first));  // one at a time
  EXPECT_EQ(paths_->next_probe_time(), Instant::never());
  Instant asked = first;
  Duration timeout = interval();
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(paths_->probe_timeout(0_ev), timeout);
    const Instant lost = asked + timeout;
    paths_->on_probe_lost(lost, 0_ev, asked);
    timeout = std::min(timeout * 2, interval() * 8);
    asked = paths_->next_probe_time();
    EXPECT_GE(asked, lost + timeout);
    EXPECT_LE(asked, lost + timeout + timeout / 4 + Duration::nanoseconds(1));
    ASSERT_TRUE(paths_->take_due_probe(asked));
  }
  EXPECT_EQ(state(0_ev), EvState::kAssumedBad);
  paths_->on_probe_answer(asked + interval() / 2, 0_ev, asked);
  EXPECT_EQ(state(0_ev), EvState::kGood);
  EXPECT_EQ(paths_->probe_timeout(0_ev), interval());
  EXPECT_EQ(counters_.ev_recovered, 1u);
  EXPECT_EQ(paths_->next_probe_time(), Instant::never());
}

// An overdue answer proves that its path worked when the probe was sent, and that it still works only if no packet
// that was sent later got lost.
TEST_F(PeerPathsTest, an_overdue_answer_restores_the_path_unless_it_is_outdated) {
  for (bool outdated : {false, true}) {
    make();
    lose(0_ev, 100);
    lose(0_ev, 200);
    ASSERT_EQ(state(0_ev), EvState::kAssumedBad);
    ASSERT_TRUE(paths_->take_due_probe(us(100000)));
    paths_->on_probe_answer(us(100000), 0_ev, us(outdated ? 199 : 200), true);
    EXPECT_EQ(state(0_ev), outdated ? EvState::kAssumedBad : EvState::kGood);
    EXPECT_FALSE(paths_->take_due_probe(us(100000)));  // one at a time
  }
}

TEST_F(PeerPathsTest, a_recovered_ev_is_active_only_if_its_plane_is_short) {
  paths_->on_timeout(us(0), 0_ev);
  paths_->on_timeout(us(0), 2_ev);
  paths_->on_probe_answer(us(10), 0_ev, us(5));
  EXPECT_TRUE(active(0_ev));
  paths_->on_probe_answer(us(10), 2_ev, us(5));
  EXPECT_FALSE(active(2_ev));
  EXPECT_EQ(active_on(0_plane), 4u);
}

// [MRC-EVS-5]
TEST_F(PeerPathsTest, four_silent_bursts_retire_the_plane) {
  const EvIndex evs[] = {0_ev, 2_ev, 4_ev, 6_ev};
  for (int i = 0; i < 3; ++i) lose(evs[i], 10 + i);
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  for (const EvIndex ev : evs) EXPECT_EQ(state(ev), EvState::kGood);
  lose(evs[3], 20);
  EXPECT_EQ(counters_.plane_suspensions, 1u);
  for (const EvIndex ev : {0_ev, 2_ev, 4_ev, 6_ev, 8_ev}) EXPECT_EQ(state(ev), EvState::kAssumedBad) << ev;
  EXPECT_EQ(active_on(0_plane), 0u);  // no backup of the dead plane was drawn in
  EXPECT_EQ(active_on(1_plane), 4u);
  for (const EvIndex ev : lap()) EXPECT_EQ(paths_->plane_of(ev), 1_plane);
  // One answer lifts the suspension.
  paths_->on_probe_answer(us(1000), 4_ev, us(900));
  EXPECT_TRUE(carries(4_ev));
  for (const EvIndex ev : evs) lose(ev, 8000 + ev.value());
  EXPECT_EQ(counters_.plane_suspensions, 2u);
}

// [MRC-EVS-5] A slow plane that is not known yet: 32 delays of 200 us after it delivered something, whatever that was.
TEST_F(PeerPathsTest, a_plane_is_not_retired_while_it_delivers) {
  const EvIndex evs[] = {0_ev, 2_ev, 4_ev, 6_ev};
  paths_->on_delivered(us(50), 8_ev, us(1));
  for (const EvIndex ev : evs) lose(ev, 2000 + ev.value());
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  EXPECT_EQ(paths_->next_probe_time(), us(6450));
  paths_->on_delivered(us(3000), 8_ev, us(2));
  EXPECT_EQ(paths_->next_probe_time(), us(9400));
  EXPECT_FALSE(paths_->take_due_probe(us(9400) - Duration::nanoseconds(1)));
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  EXPECT_FALSE(paths_->take_due_probe(us(9400)));
  EXPECT_EQ(counters_.plane_suspensions, 1u);
}

// The floor is for single EVs: a dead plane is left however few EVs remain on the others.
TEST_F(PeerPathsTest, a_plane_is_left_whatever_the_least_number_of_active_evs) {
  struct {
    int planes, peer_planes;
    uint32_t min_active;
  } const cases[] = {{8, 8, 0}, {8, 2, 0}, {2, 2, 8}, {2, 2, 100}};
  for (const auto& c : cases) {
    make(c.planes, 4, 0, c.min_active, c.peer_planes);
    const auto last = static_cast<size_t>(c.peer_planes - 1);
    for (const EvIndex dead : EvRange(last))
      for (int64_t sent = 10; sent < 14; ++sent) lose(dead, sent);
    EXPECT_EQ(counters_.plane_suspensions, last);
    for (const EvIndex ev : lap())
      EXPECT_EQ(paths_->plane_of(ev), plane_at(last)) << c.planes << " planes, " << c.min_active;
    for (const EvIndex dead : EvRange(last)) {
      EXPECT_EQ(active_on(plane_at(dead.value())), 0u);
      paths_->on_probe_answer(us(1000), dead, us(900));  // which was asked like any retired EV
      EXPECT_TRUE(carries(dead));
    }
  }
}

TEST_F(PeerPathsTest, the_only_plane_is_not_left) {
  paths_->set_local_planes(1_planes);
  for (const EvIndex ev : {0_ev, 2_ev, 4_ev, 6_ev}) lose(ev, 10 + ev.value());
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  for (const EvIndex ev : {0_ev, 2_ev, 4_ev, 6_ev}) EXPECT_EQ(state(ev), EvState::kGood);
}

TEST_F(PeerPathsTest, oblivious_spraying_retires_nothing) {
  config_.oblivious = true;
  for (int64_t i = 1; i <= 20; ++i) lose(0_ev, i);
  paths_->on_timeout(us(200), 1_ev);
  paths_->on_always_skip(us(200), 2_ev);
  EXPECT_EQ(state(0_ev), EvState::kGood);
  EXPECT_EQ(state(1_ev), EvState::kGood);
  EXPECT_EQ(state(2_ev), EvState::kGood);
  EXPECT_EQ(paths_->status()[0].losses, 20u);
  paths_->on_data_sent(us(300), 4_ev, 1, 64);
  paths_->on_delivered(us(310), 2_ev, us(310));
  EXPECT_FALSE(paths_->take_wait(4_ev));
  EXPECT_TRUE(paths_->plane_usable(0_plane));
}

// [MRC-PORT-1]
TEST_F(PeerPathsTest, planes_of_both_ends_bound_the_usable_set) {
  const uint32_t before = paths_->generation();
  ports(2_planes);
  EXPECT_NE(paths_->generation(), before);
  EXPECT_FALSE(paths_->plane_usable(0_plane));
  EXPECT_TRUE(paths_->plane_usable(1_plane));
  for (const EvIndex ev : lap()) EXPECT_EQ(paths_->plane_of(ev), 1_plane);
  ports(3_planes);
  EXPECT_FALSE(carries(0_ev));  // a word: an answer brings the plane back
  paths_->on_probe_answer(us(9000), 0_ev, us(8000));
  EXPECT_TRUE(carries(0_ev));
}

// [MRC-PORT-1] New data avoid the plane while the probes ask; the EVs and everything else stay as they are.
TEST_F(PeerPathsTest, a_plane_that_is_called_down_is_avoided_until_a_probe_over_it_is_answered) {
  EXPECT_TRUE(paths_->on_port_status(us(100), 2_planes));
  EXPECT_FALSE(paths_->plane_usable(0_plane));
  std::set<EvIndex> asked;
  while (const std::optional<EvIndex> due = paths_->take_due_probe(us(100))) {
    const EvIndex ev = *due;
    EXPECT_EQ(paths_->plane_of(ev), 0_plane);
    asked.insert(ev);
  }
  EXPECT_EQ(asked.size(), PortClaims::kProbes);
  paths_->on_probe_answer(us(130), *asked.begin(), us(100));
  EXPECT_TRUE(paths_->plane_usable(0_plane));
  EXPECT_EQ(counters_.port_status_refuted, 1u);
  EXPECT_FALSE(paths_->on_port_status(us(200), 2_planes));  // so soon after that
  EXPECT_TRUE(paths_->plane_usable(0_plane));
}

// With all other planes gone a word cannot make things better, so it is not followed until it is proved.
TEST_F(PeerPathsTest, the_last_plane_is_not_avoided_for_a_word) {
  paths_->set_local_planes(0b01_planes);
  EXPECT_TRUE(paths_->on_port_status(us(100), 2_planes));
  EXPECT_TRUE(paths_->plane_usable(0_plane));
}

// [MRC-EVS-9] [MRC-CHOICE-Q22]
TEST_F(PeerPathsTest, control_packets_take_the_planes_in_turn_on_one_ev_each) {
  EvIndex first[2];
  for (EvIndex& ev : first) ev = control();
  EXPECT_NE(paths_->plane_of(first[0]), paths_->plane_of(first[1]));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(control(), first[i % 2]);
  }
  EXPECT_EQ(paths_->plane_of(control(2_planes)), 1_plane);
  EXPECT_FALSE(paths_->pick_control(0_planes));
  for (const EvIndex ev : {0_ev, 2_ev, 4_ev, 6_ev}) lose(ev, 10 + ev.value());
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(paths_->plane_of(control()), 1_plane);
  }
}

// [MRC-EVS-9] All answers on one path would load it more than its neighbours.
TEST_F(PeerPathsTest, control_packets_follow_what_is_delivered) {
  for (const EvIndex ev : {4_ev, 3_ev, 2_ev, 5_ev}) {
    paths_->on_delivered(us(ev.value()), ev, us(ev.value()));
    EvIndex picked[2];
    for (EvIndex& each : picked) each = control();
    EXPECT_TRUE(picked[0] == ev || picked[1] == ev) << ev;
  }
  lose(2_ev, 20);
  lose(2_ev, 21);
  ASSERT_EQ(state(2_ev), EvState::kAssumedBad);
  paths_->on_delivered(us(22), 2_ev, us(19));  // an answer that was late: the path is no better for it
  for (int i = 0; i < 4; ++i) {
    EXPECT_NE(control(), 2_ev);
  }
}

TEST_F(PeerPathsTest, a_receiver_asks_one_path_of_each_plane_per_interval) {
  for (int i = 0; i < 2; ++i) control();
  std::set<EvIndex> seen;
  for (int64_t round = 0; round < 32; ++round) {
    const Instant start = us(round * 100000);
    EXPECT_TRUE(paths_->on_inbound(start, 0_plane, 0));
    EXPECT_FALSE(paths_->on_inbound(start + Duration::microseconds(1), 0_plane, 0));
    EXPECT_EQ(paths_->next_probe_time(), start + interval());
    std::set<PlaneId> planes;
    std::set<EvIndex> asked;
    while (const std::optional<EvIndex> due = paths_->take_due_probe(start + interval())) {
      const EvIndex ev = *due;
      planes.insert(paths_->plane_of(ev));
      asked.insert(ev);
    }
    EXPECT_EQ(asked.size(), 2u);
    EXPECT_EQ(planes, (std::set<PlaneId>{0_plane, 1_plane}));
    EXPECT_EQ(paths_->next_probe_time(), Instant::never());  // without traffic no further round
    for (const EvIndex each : asked) paths_->on_probe_answer(start + interval(), each, start + interval());
    std::set<EvIndex> used;  // what answered carries the control packets
    for (int i = 0; i < 2; ++i) {
      used.insert(control());
    }
    EXPECT_EQ(used, asked);
    seen.insert(asked.begin(), asked.end());
  }
  EXPECT_GT(seen.size(), 7u);  // of 10
}

// [MRC-EVS-9] One dead path among many is no dead plane: the check after it asks the path that carries the answers.
TEST_F(PeerPathsTest, a_silent_check_is_followed_by_one_of_the_reverse_ev) {
  constexpr EvIndex kDead = 4_ev;
  for (int i = 0; i < 2; ++i) control();
  paths_->on_delivered(us(1), 0_ev, us(1));
  bool was_silent = false;
  int silent = 0;
  for (int64_t round = 1; round < 200 && silent < 3; ++round) {
    const Instant sent = us(round * 100000) + interval();
    EvIndex reverse[2];
    for (EvIndex& each : reverse) each = control();
    paths_->on_inbound(us(round * 100000), 0_plane, 0);
    bool lost = false;
    while (const std::optional<EvIndex> due = paths_->take_due_probe(sent)) {
      const EvIndex ev = *due;
      if (paths_->plane_of(ev) == 0_plane && state(kDead) == EvState::kGood) {
        EXPECT_TRUE(!was_silent || ev == reverse[0] || ev == reverse[1]) << ev;
        was_silent = ev == kDead;
        silent += was_silent;
      }
      lost = lost || ev == kDead;
      if (ev != kDead) paths_->on_probe_answer(sent + Duration::microseconds(10), ev, sent);
    }
    if (lost) paths_->on_probe_lost(sent + interval(), kDead, sent);
    for (int i = 0; i < 2; ++i) {
      EXPECT_NE(control(), kDead);
    }
  }
  EXPECT_EQ(silent, 2);  // these retire the path
  EXPECT_EQ(state(kDead), EvState::kAssumedBad);
  EXPECT_EQ(counters_.plane_suspensions, 0u);
}

// [MRC-EVS-17] A host that does not run answers on no plane, and timers expire as they do for dead paths.
TEST_F(PeerPathsTest, silence_on_all_planes_is_evidence_against_none) {
  for (const EvIndex ev : {0_ev, 1_ev}) paths_->on_delivered(us(1), ev, us(1));
  for (Instant now = us(200000); now < us(4000000); now = now + interval() * 2) {
    for (int i = 0; i < 2; ++i) control();
    paths_->on_inbound(now, 0_plane, 0);
    std::vector<EvIndex> lost;
    while (const std::optional<EvIndex> due = paths_->take_due_probe(now + interval())) lost.push_back(*due);
    EXPECT_EQ(lost.size(), 2u);
    for (const EvIndex ev : lost) paths_->on_probe_lost(now + interval() * 2, ev, now + interval());
    for (const EvIndex ev : EvRange(8)) paths_->on_unanswered(now + interval() * 2, ev, now);
  }
  EXPECT_EQ(counters_.ev_assumed_bad, 0u);
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  // One answer, and the same silence of an EV is evidence.
  paths_->on_delivered(us(4000000), 1_ev, us(4000000));
  paths_->on_unanswered(us(4100000), 0_ev, us(4000001));
  EXPECT_EQ(state(0_ev), EvState::kGood);
  paths_->on_unanswered(us(4100000), 0_ev, us(4000000));
  EXPECT_EQ(state(0_ev), EvState::kAssumedBad);
}

// [MRC-EVS-17]
TEST_F(PeerPathsTest, a_packet_that_counted_as_lost_brings_its_path_back) {
  paths_->on_delivered(us(1), 0_ev, us(1));
  paths_->on_lost(us(100), 0_ev, us(10));
  paths_->on_lost(us(100), 0_ev, us(20));
  ASSERT_EQ(state(0_ev), EvState::kAssumedBad);
  paths_->on_loss_refuted(us(110), 0_ev, us(10));  // the path may have failed after it
  EXPECT_EQ(state(0_ev), EvState::kAssumedBad);
  paths_->on_loss_refuted(us(120), 0_ev, us(20));
  EXPECT_EQ(state(0_ev), EvState::kGood);
}

// [MRC-EVS-17]
TEST_F(PeerPathsTest, a_packet_that_counted_as_lost_brings_its_plane_back) {
  for (int64_t i = 0; i < 4; ++i) paths_->on_lost(us(100), ev_at(static_cast<size_t>(2 * i)), us(10 + i));
  ASSERT_FALSE(paths_->plane_usable(0_plane));
  paths_->on_loss_refuted(us(110), 0_ev, us(10));
  EXPECT_FALSE(paths_->plane_usable(0_plane));
  paths_->on_loss_refuted(us(120), 6_ev, us(13));
  EXPECT_TRUE(paths_->plane_usable(0_plane));
}

class ReverseCheckTest : public PeerPathsTest {
 protected:
  // Checks of plane 0 without an answer until it is retired, while requests arrive on that plane.
  int checks_until_retired(PlaneId requests) {
    int checks = 0;
    for (Instant now = us(0); counters_.plane_suspensions == 0 && checks < 10; now = now + interval() * 2) {
      for (int i = 0; i < 2; ++i) control();
      paths_->on_inbound(now, requests, 0);
      const Instant sent = now + interval();
      std::vector<EvIndex> lost;
      while (const std::optional<EvIndex> due = paths_->take_due_probe(sent)) {
        if (paths_->plane_of(*due) == 0_plane)
          lost.push_back(*due);
        else
          paths_->on_probe_answer(sent + Duration::microseconds(10), *due, sent);
      }
      for (const EvIndex ev : lost) {
        checks += state(ev) == EvState::kGood;  // not the probes of what is retired already
        paths_->on_probe_lost(sent + interval(), ev, sent);
      }
    }
    return checks;
  }
};

TEST_F(ReverseCheckTest, silent_ones_move_the_answers_to_another_plane) {
  EXPECT_EQ(checks_until_retired(1_plane), 2);
  EXPECT_EQ(counters_.plane_suspensions, 1u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(paths_->plane_of(control()), 1_plane);
  }
}

// [MRC-EVS-9]
TEST_F(ReverseCheckTest, one_more_is_needed_where_requests_arrive) {
  EXPECT_EQ(checks_until_retired(0_plane), 3);
}

// All planes deliver, but some of them not all of their packets. EV i is on plane i.
class LossyPlaneTest : public PeerPathsTest {
 protected:
  static constexpr int kPackets = 2000;
  // The largest gap of each plane is before: losses in it do not count [MRC-EVS-18].
  void begin(int planes, Duration host_delay = Duration()) {
    make(planes, 4, 0);
    config_.host_delay = host_delay;
    for (const int64_t sent : {now_, now_ + 100})
      for (const PlaneId plane : PlaneSet::all(paths_->plane_count())) deliver(plane, sent);
    now_ += 101;
  }
  // Packets of all planes in use, every microsecond. Of ten of a plane the first so many are lost, as is known ten
  // later.
  void carry(PerPlane<int> lost_of_ten) {
    lost_of_ten.resize(paths_->plane_count());
    for (int i = 0; i < kPackets; ++i, ++now_) {
      for (const PlaneId plane : lost_of_ten.ids()) {
        if (!paths_->plane_usable(plane)) continue;
        if (i % 10 >= lost_of_ten[plane]) {
          deliver(plane, now_);
        } else if (i >= 10) {
          lose(plane, now_ - 10);
        }
      }
    }
  }
  void deliver(PlaneId plane, int64_t sent) { paths_->on_delivered(us(sent), ev_at(plane.value()), us(sent)); }
  void lose(PlaneId plane, int64_t sent) { paths_->on_lost(us(now_), ev_at(plane.value()), us(sent)); }
  // The planes that are probed in that many half intervals, in which other packets are delivered by plane 0. Of the
  // probes every `every`th is unanswered.
  PlaneSet probe(int halves, int every) {
    return probe_by(halves, [&](EvIndex) { return ++probes_ % every != 0; });
  }
  // `bool answered(EvIndex)`
  template <typename Answered>
  PlaneSet probe_by(int halves, const Answered& answered) {
    PlaneSet probed;
    for (int i = 0; i < halves; ++i) {
      now_ += interval().ns() / 2000;
      if (traffic_) deliver(0_plane, now_);
      while (const std::optional<EvIndex> ev = paths_->take_due_probe(us(now_))) {
        probed.insert(paths_->plane_of(*ev));
        if (answered(*ev))
          paths_->on_probe_answer(us(now_ + 1), *ev, us(now_));
        else
          paths_->on_probe_lost(us(now_ + 1), *ev, us(now_));
      }
      paths_->check();
    }
    return probed;
  }

  int64_t now_ = 1000;
  int probes_ = 0;
  bool traffic_ = true;
};

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, one_of_eight_that_delivers_half_is_left) {
  begin(8);
  carry({0, 5});
  EXPECT_EQ(order().planes, PlaneSet::all(8) - PlaneSet{1_plane});
  for (int i = 0; i < 16; ++i) EXPECT_NE(paths_->plane_of(control(PlaneSet::all(8))), 1_plane);
  for (const EvStatus& s : paths_->status()) EXPECT_EQ(s.state, EvState::kGood);
  EXPECT_EQ(counters_.plane_lossy, 1u);
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  paths_->check();
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, a_plane_with_fewer_losses_or_few_others_is_kept) {
  // On both sides of 8/12, 3/7 and 2/6.
  const struct { int planes, kept, left; } kLimits[] = {{8, 3, 4}, {3, 5, 6}, {2, 6, 7}};
  for (const auto& limit : kLimits) {
    for (const int lost : {limit.kept, limit.left}) {
      begin(limit.planes);
      carry({0, lost});
      EXPECT_EQ(paths_->plane_usable(1_plane), lost == limit.kept) << limit.planes << " planes, lost " << lost;
    }
  }
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, oblivious_spraying_leaves_none) {
  begin(8);
  config_.oblivious = true;
  carry({0, 9});
  EXPECT_TRUE(paths_->plane_usable(1_plane));
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, planes_that_lose_alike_are_used) {
  begin(8);
  carry({5, 5, 5, 5, 5, 5, 5, 5});
  EXPECT_EQ(order().planes, PlaneSet::all(8));
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, planes_without_a_good_ev_do_not_count) {
  begin(8);
  for (const EvIndex ev : EvRange(32))
    if (paths_->plane_of(ev) > 1_plane) paths_->set_denied(us(now_), ev, true);
  carry({0, 5});  // of two planes a half
  EXPECT_TRUE(paths_->plane_usable(1_plane));
}

// A receive queue that overflows while its host does not run loses any number of packets in a row.
TEST_F(LossyPlaneTest, losses_in_the_largest_gap_do_not_count) {
  begin(8);
  for (int i = 0; i < kPackets; ++i) deliver(0_plane, now_ + i);
  deliver(1_plane, now_ + kPackets);
  for (int i = 0; i < kPackets; ++i) lose(1_plane, now_ + i);
  EXPECT_TRUE(paths_->plane_usable(1_plane));
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, losses_in_a_smaller_gap_count) {
  begin(8);
  for (const PlaneId plane : PlaneSet::all(8))
    for (int i = 0; i < 300; ++i) deliver(plane, now_ + i / 4);
  now_ += 75;
  deliver(1_plane, now_ + 60);  // the largest one took 100 us
  for (int i = 0; i < 300; ++i) lose(1_plane, now_ + i / 10);
  EXPECT_FALSE(paths_->plane_usable(1_plane));
}

// What follows a burst may take long. [MRC-EVS-20]
TEST_F(LossyPlaneTest, losses_of_a_burst_count_by_what_was_delivered_of_it) {
  begin(8);
  for (int i = 0; i < 500; ++i) {
    for (const PlaneId plane : PlaneSet::all(8)) deliver(plane, now_ + i);
    lose(1_plane, now_ + i);
  }
  EXPECT_FALSE(paths_->plane_usable(1_plane));
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, a_plane_that_joins_is_no_measure_for_the_others) {
  begin(8);
  paths_->set_local_planes(0b01111111_planes);
  carry({5, 5, 5, 5, 5, 5, 5});
  ASSERT_EQ(order().planes, 0b01111111_planes);
  paths_->set_local_planes(PlaneSet::all(8));
  for (int i = 0; i < 10; ++i, ++now_)
    for (const PlaneId plane : PlaneSet::all(7)) lose(plane, now_ - 10);
  EXPECT_EQ(order().planes, PlaneSet::all(8));
}

// It may deliver everything. [MRC-EVS-20]
TEST_F(LossyPlaneTest, a_lossy_plane_is_measured_by_a_plane_that_is_resumed) {
  begin(2);
  carry({0, 8});
  for (int i = 1; i <= 4; ++i) lose(0_plane, now_ + i);
  ASSERT_EQ(order().planes, PlaneSet{1_plane});
  now_ += 10;
  paths_->on_probe_answer(us(now_), 0_ev, us(now_ - 1));
  ASSERT_EQ(order().planes, PlaneSet{0_plane});
  probe(20, 2);
  EXPECT_EQ(order().planes, PlaneSet{0_plane});
}

// Nothing acknowledges datagrams. [MRC-EVS-20]
TEST_F(LossyPlaneTest, bursts_of_datagrams_weigh_nothing) {
  begin(8);
  for (int i = 0; i < 500; ++i) {
    paths_->on_datagrams_sent(1_ev, 60, 60 * 1024);
    for (const PlaneId plane : PlaneSet::all(8)) deliver(plane, now_ + i);
    lose(1_plane, now_ + i - 1);
  }
  EXPECT_FALSE(paths_->plane_usable(1_plane));
}

// A host passes a burst to its network in one piece, and loses it so. [MRC-EVS-20]
TEST_F(LossyPlaneTest, two_lost_bursts_of_sixty_packets_leave_no_plane) {
  constexpr uint32_t kBurst = 60;
  begin(8);
  for (int burst = 0; burst < 4; ++burst) paths_->on_data_sent(us(now_), 1_ev, kBurst, kBurst * 1024);
  for (uint32_t i = 0; i < kBurst; ++i) deliver(1_plane, now_);
  for (uint32_t i = 0; i < kBurst; ++i) deliver(1_plane, now_ + 3);
  for (const int64_t sent : {now_ + 1, now_ + 2})
    for (uint32_t i = 0; i < kBurst; ++i) lose(1_plane, sent);
  EXPECT_TRUE(paths_->plane_usable(1_plane));
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, a_host_leaves_a_plane_that_delivers_too_little_for_32_delays) {
  begin(8, Duration::microseconds(200));
  for (int i = 0; i < 3; ++i) carry({0, 5});  // 6 ms
  EXPECT_TRUE(paths_->plane_usable(1_plane));
  carry({0, 0});
  for (int i = 0; i < 3; ++i) carry({0, 5});
  EXPECT_TRUE(paths_->plane_usable(1_plane));
  carry({0, 5});
  EXPECT_FALSE(paths_->plane_usable(1_plane));
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, pauses_of_an_interval_are_no_part_of_the_32_delays) {
  for (const bool longer : {false, true}) {
    begin(8, Duration::microseconds(200));
    carry({0, 5});  // 2 ms
    now_ += interval().ns() / 1000 + (longer ? 100 : -100);
    carry({0, 5});
    EXPECT_EQ(paths_->plane_usable(1_plane), longer);
    now_ += interval().ns() / 1000 + 100;
    carry({0, 5});
    EXPECT_EQ(paths_->plane_usable(1_plane), longer);
    now_ += interval().ns() / 1000 + 100;
    carry({0, 5});
    EXPECT_FALSE(paths_->plane_usable(1_plane));
  }
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, a_plane_that_was_down_begins_the_32_delays_anew) {
  begin(8, Duration::microseconds(200));
  for (int i = 0; i < 3; ++i) carry({0, 5});  // 6 ms
  paths_->set_local_planes(PlaneSet::all(8) - PlaneSet{1_plane});
  paths_->set_local_planes(PlaneSet::all(8));
  for (int i = 0; i < 3; ++i) carry({0, 5});
  EXPECT_TRUE(paths_->plane_usable(1_plane));
  carry({0, 5});
  EXPECT_FALSE(paths_->plane_usable(1_plane));
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, a_plane_that_was_left_is_probed_and_used_again_when_it_delivers) {
  begin(8);
  EXPECT_EQ(paths_->next_probe_time(), Instant::never());
  carry({0, 5});
  EXPECT_LE(paths_->next_probe_time(), us(now_) + interval() / 2);
  EXPECT_GT(paths_->next_probe_time(), us(now_ - kPackets) + interval() / 2);
  EXPECT_EQ(probe(200, 2), PlaneSet{1_plane});
  EXPECT_FALSE(paths_->plane_usable(1_plane));
  EXPECT_EQ(probe(200, 1000), PlaneSet{1_plane});
  EXPECT_TRUE(paths_->plane_usable(1_plane));
  EXPECT_EQ(paths_->next_probe_time(), Instant::never());
  EXPECT_EQ(probe(200, 1000), PlaneSet());
}

// Its probes go to the EVs that work, once the others are known. [MRC-EVS-20]
TEST_F(LossyPlaneTest, dead_evs_of_a_plane_that_was_left_are_retired) {
  begin(8);
  carry({0, 5});
  probe_by(400, [](EvIndex ev) { return ev != 9_ev && ev != 17_ev; });
  for (const EvIndex ev : {9_ev, 17_ev}) EXPECT_EQ(state(ev), EvState::kAssumedBad);
  EXPECT_TRUE(paths_->plane_usable(1_plane));
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  EXPECT_EQ(counters_.ev_assumed_bad, 2u);
}

// A lossy plane with too few EVs would be no better than a dead one. [MRC-EVS-5] [MRC-EVS-20]
TEST_F(LossyPlaneTest, random_loss_leaves_a_quarter_of_the_evs) {
  make(2, 8, 0);
  config_.host_delay = Duration();
  for (const int64_t sent : {now_, now_ + 100})
    for (const PlaneId plane : PlaneSet::all(2)) deliver(plane, sent);
  now_ += 101;
  carry({0, 9});
  ASSERT_FALSE(paths_->plane_usable(1_plane));
  size_t least = 8;
  for (int i = 0; i < 2000; ++i) {
    probe_by(1, [&](EvIndex) { return rng_.below(10) == 0; });
    least = std::min(least, active_on(1_plane));
  }
  EXPECT_EQ(least, 2u);
  for (int i = 1; i <= 4; ++i) lose(0_plane, now_ + i);
  EXPECT_EQ(order().planes, PlaneSet{1_plane});
}

// [MRC-EVS-5]
TEST_F(LossyPlaneTest, no_plane_is_left_for_a_lossy_one_without_a_good_ev) {
  begin(2);
  carry({0, 9});
  for (const EvIndex ev : EvRange(8))
    if (paths_->plane_of(ev) == 1_plane) paths_->on_always_skip(us(now_), ev);
  for (int i = 1; i <= 4; ++i) lose(0_plane, now_ + i);
  EXPECT_EQ(counters_.plane_suspensions, 0u);
  EXPECT_EQ(order().planes, PlaneSet{0_plane});
}

// [MRC-EVS-20]
TEST_F(LossyPlaneTest, one_ev_is_probed_again_as_soon_as_its_probe_is_judged) {
  begin(8);
  carry({0, 5});
  for (const EvIndex ev : EvRange(32))
    if (paths_->plane_of(ev) == 1_plane && ev != 1_ev) paths_->set_denied(us(now_), ev, true);
  int probes = 0;
  std::optional<Instant> outstanding;
  for (int i = 0; i < 80; ++i) {
    const Instant now = us(now_ += interval().ns() / 2000);
    deliver(0_plane, now_);
    if (outstanding && *outstanding + interval() <= now) {
      paths_->on_probe_lost(now, 1_ev, *outstanding);
      outstanding.reset();
    }
    while (const std::optional<EvIndex> ev = paths_->take_due_probe(now)) {
      EXPECT_EQ(*ev, 1_ev);
      outstanding = now;
      ++probes;
    }
  }
  EXPECT_GE(probes, 25);
}

// Between its probes nothing else is answered, if the peer is not asked for it. [MRC-EVS-17] [MRC-EVS-20]
TEST_F(LossyPlaneTest, without_traffic_the_silence_of_probes_counts_too) {
  begin(2);
  carry({0, 8});
  ASSERT_FALSE(paths_->plane_usable(1_plane));
  struct Silent {
    EvIndex ev;
    Instant sent;
  };
  std::vector<Silent> silent;
  PlaneSet probed;
  for (int i = 0; i < 2000; ++i) {
    // Timers are late now and then.
    const Instant now = us(now_ += interval().ns() / 2000 + rng_.below(200));
    for (; !silent.empty() && silent.front().sent + interval() <= now; silent.erase(silent.begin()))
      paths_->on_probe_lost(now, silent.front().ev, silent.front().sent);
    while (const std::optional<EvIndex> ev = paths_->take_due_probe(now)) {
      probed.insert(paths_->plane_of(*ev));
      if (paths_->plane_of(*ev) == 0_plane || rng_.below(10) < 3)
        paths_->on_probe_answer(now + Duration::microseconds(10), *ev, now);
      else
        silent.push_back({*ev, now});
    }
    ASSERT_FALSE(paths_->plane_usable(1_plane)) << i;
  }
  EXPECT_EQ(probed, 0b11_planes);
}

// It is no measure of what the plane delivers, and it is not asked beside the port. [MRC-PORT-4] [MRC-EVS-20]
TEST_F(LossyPlaneTest, the_silence_of_a_port_that_is_reported_down_does_not_count) {
  begin(8);
  carry({0, 5});
  ports(PlaneSet::all(8) - PlaneSet{1_plane});
  int asked = 0;
  probe_by(640, [&](EvIndex ev) { return paths_->plane_of(ev) != 1_plane || ++asked == 0; });
  EXPECT_GE(asked, 38);
  EXPECT_LE(asked, 42);
  int answers = 0;
  for (int i = 0; i < 200 && !paths_->plane_usable(1_plane); ++i)
    probe_by(1, [&](EvIndex ev) { return paths_->plane_of(ev) != 1_plane || ++answers != 0; });
  EXPECT_TRUE(paths_->plane_usable(1_plane));
  EXPECT_LE(answers, 20);  // of nothing it would take 28
}

// [MRC-EVS-9]
TEST_F(LossyPlaneTest, a_probe_may_wait_behind_the_requests_of_the_peer) {
  begin(8);
  carry({0, 5});
  ASSERT_FALSE(paths_->plane_usable(1_plane));
  EXPECT_EQ(paths_->earliest_probe_expiry(1_ev, us(now_)), us(now_));
  paths_->on_inbound(us(now_), 1_plane, 0);
  EXPECT_EQ(paths_->earliest_probe_expiry(1_ev, us(now_)), us(now_) + interval() * 4);
}

// [MRC-EVS-5] [MRC-EVS-20]
TEST_F(LossyPlaneTest, one_that_dies_has_to_answer_and_to_deliver) {
  begin(8);
  carry({0, 5});
  for (int i = 1; i <= 4; ++i) lose(1_plane, now_ + i);
  now_ += 5;
  EXPECT_EQ(counters_.plane_suspensions, 1u);
  probe(8, 1);
  EXPECT_FALSE(paths_->plane_usable(1_plane));
  probe(1000, 1000);
  EXPECT_TRUE(paths_->plane_usable(1_plane));
}

// [MRC-EVS-5] [MRC-EVS-20]
TEST_F(LossyPlaneTest, a_dead_plane_is_not_called_lossy) {
  begin(8);
  for (int i = 1; i <= 4; ++i) lose(1_plane, now_ + i);
  ASSERT_EQ(counters_.plane_suspensions, 1u);
  now_ += 10;
  deliver(1_plane, now_);
  for (int i = 0; i < 500; ++i) lose(1_plane, now_ - 1);
  EXPECT_EQ(counters_.plane_lossy, 0u);
}

// [MRC-CHOICE-Q21]
TEST_F(LossyPlaneTest, denied_evs_are_not_probed) {
  begin(8);
  carry({0, 5});
  for (const EvIndex ev : EvRange(32))
    if (paths_->plane_of(ev) == 1_plane) paths_->set_denied(us(now_), ev, true);
  EXPECT_EQ(probe(100, 1000), PlaneSet());
  for (const EvIndex ev : EvRange(32)) paths_->set_denied(us(now_), ev, false);
  EXPECT_EQ(probe(100, 1000), PlaneSet{1_plane});
  EXPECT_TRUE(paths_->plane_usable(1_plane));
}

// [MRC-EVS-8]
TEST_F(LossyPlaneTest, probes_go_on_when_the_peer_or_the_plane_is_back) {
  begin(8);
  carry({0, 5});
  now_ += interval().ns() / 2000;
  ASSERT_TRUE(paths_->take_due_probe(us(now_)));
  while (paths_->take_due_probe(us(now_))) {
  }
  paths_->forget_probes();
  paths_->set_present_planes(PlaneSet::all(8) - PlaneSet{1_plane});
  EXPECT_EQ(probe(100, 1000), PlaneSet());
  paths_->set_present_planes(PlaneSet::all(8));
  EXPECT_EQ(probe(100, 1000), PlaneSet{1_plane});
  EXPECT_TRUE(paths_->plane_usable(1_plane));
}

// It would be left at two thirds, and be left and used in turn where it delivers about that. [MRC-EVS-20]
TEST_F(LossyPlaneTest, to_be_used_again_it_must_deliver_five_sixths) {
  begin(8);
  carry({0, 5});
  probe(400, 4);
  EXPECT_FALSE(paths_->plane_usable(1_plane));
  probe(400, 8);
  EXPECT_TRUE(paths_->plane_usable(1_plane));
}

// With these it would take more answers than come here. [MRC-EVS-17]
TEST_F(LossyPlaneTest, probes_that_a_silent_peer_does_not_answer_do_not_count) {
  begin(8);
  carry({0, 5});
  traffic_ = false;
  probe(100, 1);
  traffic_ = true;
  probe(22, 1000);
  EXPECT_TRUE(paths_->plane_usable(1_plane));
}

// [MRC-EVS-17]
TEST_F(LossyPlaneTest, packets_that_counted_as_lost_bring_their_plane_back) {
  for (const bool timed_out : {false, true}) {  // these never counted in the share
    begin(8);
    carry({0, 5});
    ASSERT_FALSE(paths_->plane_usable(1_plane));
    for (int i = 0; i < 120; ++i) {
      paths_->on_delivered(us(now_), 1_ev, us(now_ - 10));
      paths_->on_loss_refuted(us(now_), 1_ev, us(now_ - 10), timed_out);
    }
    EXPECT_EQ(paths_->plane_usable(1_plane), !timed_out);
  }
}

// A lossy plane is better than a dead one. [MRC-EVS-5] [MRC-EVS-20]
TEST_F(LossyPlaneTest, a_lossy_plane_is_used_when_the_last_other_one_dies) {
  begin(2);
  carry({0, 8});
  ASSERT_EQ(order().planes, PlaneSet{0_plane});
  for (int i = 1; i <= 4; ++i) lose(0_plane, now_ + i);
  EXPECT_EQ(counters_.plane_suspensions, 1u);
  EXPECT_EQ(order().planes, PlaneSet{1_plane});
  EXPECT_EQ(paths_->plane_of(control(PlaneSet::all(2))), 1_plane);
  paths_->check();
}

// Two lossy planes are left when the others go down.
class LossyPlanesAlone : public LossyPlaneTest {
 protected:
  void SetUp() override {
    begin(8);
    carry({9, 5});
    paths_->set_local_planes(kLossy);
    ASSERT_EQ(order().planes, kLossy);
  }
  static constexpr PlaneSet kLossy = 0b11_planes;
};

// Every change of the usable planes costs all QPs a new order. [MRC-EVS-20]
TEST_F(LossyPlanesAlone, their_losses_change_nothing_and_delay_no_probe) {
  const uint32_t generation = paths_->generation();
  const int64_t sent = now_ - 5;
  for (int i = 0; i < 100; ++i) {
    now_ += interval().ns() / 200000;
    lose(0_plane, sent);
  }
  EXPECT_EQ(paths_->generation(), generation);
  PlaneSet probed;
  while (const std::optional<EvIndex> ev = paths_->take_due_probe(us(now_))) probed.insert(paths_->plane_of(*ev));
  EXPECT_EQ(probed, kLossy);
}

// [MRC-EVS-9]
TEST_F(LossyPlanesAlone, silent_checks_retire_one) {
  for (int round = 0; round < 10 && counters_.plane_suspensions == 0; ++round) {
    paths_->on_inbound(us(now_), 1_plane, 0);
    const int64_t sent = now_ + interval().ns() / 1000;
    deliver(1_plane, sent);
    std::vector<EvIndex> lost;
    while (const std::optional<EvIndex> ev = paths_->take_due_probe(us(sent))) {
      if (paths_->plane_of(*ev) == 0_plane)
        lost.push_back(*ev);
      else
        paths_->on_probe_unsent(us(sent), *ev);
    }
    now_ = sent + interval().ns() / 1000;
    for (const EvIndex ev : lost) paths_->on_probe_lost(us(now_), ev, us(sent));
  }
  EXPECT_EQ(counters_.plane_suspensions, 1u);
  EXPECT_EQ(order().planes, PlaneSet{1_plane});
}

}  // namespace
}  // namespace mrc::core
