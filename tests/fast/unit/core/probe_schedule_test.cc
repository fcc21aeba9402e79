// Which EV is probed when, and how long its answer may take. Thresholds from both sides; times in microseconds of a
// made-up clock. [MRC-EVS-8..9] [MRC-EVS-15]
#include "core/probe_schedule.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <vector>

#include "path_parts.h"

namespace mrc::core {
namespace {

Instant schedule_time(int64_t n) {
  return Instant::from_ns(n * 1000);
}

// Two planes of five EVs: EV i lies on plane i % 2.
class ProbeScheduleTest : public testing::Test, protected PathParts {
 protected:
  static constexpr Duration kNanosecond = Duration::nanoseconds(1);
  ProbeScheduleTest() : PathParts(2, 10, 50000, 7) { make(); }
  void make() {
    make_parts();
    probes_.emplace(config_, *links_, *health_, use_, *chooser_, &rng_);
  }
  // Each plane has this many links.
  void name_links(uint32_t links) {
    for (const EvIndex ev : config_.evs.ids()) config_.evs[ev].link = 1 + ev.value() * links / 10;
    make();
  }
  void TearDown() override {
    health_->check();
    probes_->check();
  }
  void retire(Instant now, EvIndex ev) {
    health_->retire(ev);
    probes_->on_retired(now, ev);
  }
  void restore(Instant now, EvIndex ev) {
    health_->restore(ev);
    probes_->on_restored(now, ev);
  }
  // The EV that is asked an interval after the first packet, of a peer that was answered on plane 0 alone.
  EvIndex checked(Instant first_packet) {
    EXPECT_TRUE(probes_->start_checks(first_packet));
    const std::optional<EvIndex> ev = probes_->take_check(first_packet + interval());
    EXPECT_TRUE(ev);
    EXPECT_FALSE(probes_->take_check(first_packet + interval()));
    return ev.value_or(EvIndex());
  }
  Duration interval() const { return config_.ev_probe_interval; }

  std::optional<ProbeSchedule> probes_;
};

// [MRC-EVS-8]
TEST_F(ProbeScheduleTest, a_retired_path_is_probed_soon_then_periodically) {
  EXPECT_EQ(probes_->next_time(), Instant::never());
  retire(schedule_time(0), 0_ev);
  const Instant first = probes_->next_time();
  EXPECT_GE(first, schedule_time(0) + interval() / 8);
  EXPECT_LE(first, schedule_time(0) + interval() / 8 + interval() / 4 + kNanosecond);
  EXPECT_FALSE(probes_->take_retired(first - kNanosecond));
  EXPECT_EQ(probes_->take_retired(first), 0_ev);
  EXPECT_TRUE(probes_->outstanding(0_ev));
  EXPECT_FALSE(probes_->take_retired(first));  // one at a time
  EXPECT_EQ(probes_->next_time(), Instant::never());
  Instant asked = first;
  Duration timeout = interval();
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(probes_->timeout(0_ev), timeout);
    const Instant lost = asked + timeout;
    probes_->on_lost(lost, 0_ev);
    timeout = std::min(timeout * 2, interval() * ProbeSchedule::kMaxTimeoutIntervals);
    asked = probes_->next_time();
    EXPECT_GE(asked, lost + timeout);
    EXPECT_LE(asked, lost + timeout + timeout / 4 + kNanosecond);
    ASSERT_TRUE(probes_->take_retired(asked));
  }
  probes_->on_answer(0_ev, interval() / 2, false);
  restore(asked + interval() / 2, 0_ev);
  EXPECT_EQ(probes_->timeout(0_ev), interval());
  EXPECT_EQ(probes_->next_time(), Instant::never());
}

// [MRC-EVS-8]
TEST_F(ProbeScheduleTest, answers_that_take_long_are_waited_for_twice_as_long) {
  probes_->on_answer(0_ev, interval() / 2, false);
  EXPECT_EQ(probes_->timeout(1_ev), interval());
  probes_->on_answer(0_ev, interval() * 2, false);
  EXPECT_EQ(probes_->timeout(1_ev), interval() * 4);
  probes_->on_answer(0_ev, interval() * 5, false);
  EXPECT_EQ(probes_->timeout(1_ev), interval() * 8);  // the most
  for (int i = 0; i < 40; ++i) probes_->on_answer(0_ev, Duration::microseconds(1), false);
  EXPECT_EQ(probes_->timeout(1_ev), interval());
}

// [MRC-EVS-8]
TEST_F(ProbeScheduleTest, a_probe_that_could_not_be_sent_is_no_unanswered_one) {
  retire(schedule_time(0), 0_ev);
  const Instant asked = probes_->next_time();
  ASSERT_EQ(probes_->take_retired(asked), 0_ev);
  probes_->on_unsent(asked, 0_ev);
  EXPECT_FALSE(probes_->outstanding(0_ev));
  EXPECT_EQ(probes_->timeout(0_ev), interval());
  EXPECT_GE(probes_->next_time(), asked + interval());
  EXPECT_EQ(probes_->take_retired(probes_->next_time()), 0_ev);
}

// An answer that is overdue belongs to an older probe than the outstanding one.
TEST_F(ProbeScheduleTest, an_overdue_answer_leaves_the_outstanding_probe) {
  retire(schedule_time(0), 0_ev);
  ASSERT_TRUE(probes_->take_retired(probes_->next_time()));
  probes_->on_answer(0_ev, Duration::microseconds(10), true);
  EXPECT_TRUE(probes_->outstanding(0_ev));
  probes_->on_answer(0_ev, Duration::microseconds(10), false);
  EXPECT_FALSE(probes_->outstanding(0_ev));
}

TEST_F(ProbeScheduleTest, a_forgotten_probe_makes_room_for_another) {
  retire(schedule_time(0), 0_ev);
  const Instant due = probes_->next_time();
  ASSERT_EQ(probes_->take_retired(due), 0_ev);
  EXPECT_FALSE(probes_->forget(1_ev));
  EXPECT_TRUE(probes_->forget(0_ev));
  EXPECT_FALSE(probes_->forget(0_ev));
  EXPECT_EQ(probes_->take_retired(due), 0_ev);
}

// The others of its plane are asked soon when one works again; those of another plane wait.
TEST_F(ProbeScheduleTest, a_restored_path_hastens_the_other_probes_of_its_plane) {
  Instant now = schedule_time(0);
  for (const EvIndex ev : {0_ev, 1_ev, 2_ev}) retire(now, ev);
  for (int round = 0; round < 5; ++round) {
    now = now + interval() * 20;
    std::set<EvIndex> asked;
    while (const auto due = probes_->take_retired(now)) asked.insert(*due);
    EXPECT_EQ(asked, (std::set<EvIndex>{0_ev, 1_ev, 2_ev}));
    now = now + interval() * 8;
    for (const EvIndex ev : asked) probes_->on_lost(now, ev);
  }
  restore(now, 0_ev);
  const Instant soon = probes_->next_time();
  EXPECT_GE(soon, now + interval() / 8);
  EXPECT_LE(soon, now + interval());
  EXPECT_EQ(probes_->take_retired(soon), 2_ev);
  EXPECT_EQ(probes_->timeout(2_ev), interval());
  EXPECT_EQ(probes_->timeout(1_ev), interval() * 8);
  EXPECT_FALSE(probes_->take_retired(now + interval() * 7));
}

// One that is due within an interval stays as it is.
TEST_F(ProbeScheduleTest, expediting_delays_nothing) {
  retire(schedule_time(0), 0_ev);
  const Instant due = probes_->next_time();
  probes_->expedite(due - interval(), 0_plane);
  EXPECT_EQ(probes_->next_time(), due);
  probes_->expedite(due - interval() - kNanosecond, 0_plane);
  EXPECT_LT(probes_->next_time(), due);
}

TEST_F(ProbeScheduleTest, a_denied_path_is_not_probed) {
  retire(schedule_time(0), 0_ev);
  health_->deny(0_ev);
  probes_->on_denied(0_ev);
  EXPECT_EQ(probes_->next_time(), Instant::never());
  EXPECT_FALSE(probes_->take_retired(schedule_time(1'000'000)));
}

TEST_F(ProbeScheduleTest, a_plane_that_is_down_here_or_absent_carries_no_probe) {
  for (const bool absent : {false, true}) {
    make();
    retire(schedule_time(0), 0_ev);
    absent ? use_.set_present(2_planes) : use_.set_local(2_planes);
    const Instant due = probes_->next_time();
    EXPECT_FALSE(probes_->take_retired(due));
    EXPECT_GE(probes_->next_time(), due + interval());
    use_.set_local(3_planes);
    use_.set_present(3_planes);
    EXPECT_EQ(probes_->take_retired(probes_->next_time()), 0_ev);
  }
}

// [MRC-PORT-3] Each probe takes another EV, good ones first, and never a denied one.
TEST_F(ProbeScheduleTest, take_any__good_ones_then_bad_ones_none_twice) {
  for (const EvIndex ev : {0_ev, 2_ev}) retire(schedule_time(0), ev);
  health_->deny(4_ev);
  std::vector<EvIndex> taken;
  while (const std::optional<EvIndex> ev = probes_->take_any(0_plane)) taken.push_back(*ev);
  ASSERT_EQ(taken.size(), 4u);
  EXPECT_EQ((std::set<EvIndex>{taken[0], taken[1]}), (std::set<EvIndex>{6_ev, 8_ev}));
  EXPECT_EQ((std::set<EvIndex>{taken[2], taken[3]}), (std::set<EvIndex>{0_ev, 2_ev}));
}

// [MRC-EVS-15]
TEST_F(ProbeScheduleTest, each_link_is_probed_once_from_the_connection_on) {
  name_links(2);
  EXPECT_FALSE(probes_->tests_link(0_ev));
  EXPECT_EQ(probes_->next_time(), Instant::never());
  probes_->begin_first(schedule_time(100));
  EXPECT_EQ(probes_->first_began(), schedule_time(100) + interval() / 8);
  EXPECT_EQ(probes_->next_time(), probes_->first_began());
  EXPECT_FALSE(probes_->take_first(probes_->first_began() - kNanosecond));
  std::set<LinkIndex> links;
  for (int i = 0; i < 4; ++i) {
    const std::optional<EvIndex> ev = probes_->take_first(probes_->next_time());
    ASSERT_TRUE(ev);
    EXPECT_TRUE(probes_->tests_link(*ev));
    links.insert(*links_->of(*ev));
  }
  EXPECT_EQ(links.size(), 4u);
  EXPECT_EQ(probes_->next_time(), Instant::never());
  probes_->begin_first(schedule_time(100000));  // another QP to the peer
  EXPECT_EQ(probes_->next_time(), Instant::never());
  health_->on_delivered(schedule_time(1), 0_ev, schedule_time(1));
  EXPECT_FALSE(probes_->tests_link(0_ev));
}

// [MRC-EVS-15]
TEST_F(ProbeScheduleTest, first_probes_wait_and_end) {
  name_links(2);
  probes_->begin_first(schedule_time(100));
  const Instant first = probes_->next_time();
  probes_->postpone_first(first);
  EXPECT_EQ(probes_->next_time(), first + interval() / 8);
  probes_->end_first();
  EXPECT_EQ(probes_->next_time(), Instant::never());
  EXPECT_FALSE(probes_->take_first(first + interval()));
}

// [MRC-EVS-15] Of a link whose EVs are bad, or on a plane that is not in use, there is nothing to find out.
TEST_F(ProbeScheduleTest, first_probes_take_good_evs_of_usable_planes) {
  name_links(1);
  use_.suspend(1_plane);
  use_.refresh({}, {});
  for (const EvIndex ev : {0_ev, 2_ev, 4_ev}) retire(schedule_time(0), ev);
  probes_->begin_first(schedule_time(0));
  EXPECT_EQ(probes_->take_first(schedule_time(0) + interval()), 6_ev);
  EXPECT_FALSE(probes_->take_first(schedule_time(0) + interval()));
}

TEST_F(ProbeScheduleTest, no_first_probes_without_links_or_with_oblivious_spraying) {
  probes_->begin_first(schedule_time(0));
  EXPECT_EQ(probes_->next_time(), Instant::never());
  name_links(2);
  config_.oblivious = true;
  probes_->begin_first(schedule_time(0));
  EXPECT_EQ(probes_->next_time(), Instant::never());
}

// [MRC-EVS-9]
TEST_F(ProbeScheduleTest, a_receiver_asks_one_path_of_each_plane_per_interval) {
  EXPECT_TRUE(probes_->start_checks(schedule_time(0)));
  EXPECT_FALSE(probes_->take_check(schedule_time(0) + interval()));  // no answer was ever sent
  for (const EvIndex ev : {0_ev, 1_ev}) chooser_->on_delivered(ev);
  std::set<EvIndex> seen;
  for (int64_t round = 1; round <= 32; ++round) {
    const Instant start = schedule_time(round * 100'000);
    EXPECT_TRUE(probes_->start_checks(start));
    EXPECT_FALSE(probes_->start_checks(start + kNanosecond));
    EXPECT_EQ(probes_->next_time(), start + interval());
    EXPECT_FALSE(probes_->take_check(start + interval() - kNanosecond));
    std::set<PlaneId> planes;
    while (const std::optional<EvIndex> ev = probes_->take_check(start + interval())) {
      planes.insert(health_->plane_of(*ev));
      seen.insert(*ev);
      probes_->on_answer(*ev, Duration::microseconds(10), false);
    }
    EXPECT_EQ(planes, (std::set<PlaneId>{0_plane, 1_plane}));
    EXPECT_EQ(probes_->next_time(), Instant::never());  // without traffic no further round
  }
  EXPECT_GT(seen.size(), 7u);  // of 10
}

// [MRC-EVS-9] One dead path among many is no dead plane: the check after it asks the path that carries the answers.
TEST_F(ProbeScheduleTest, a_silent_check_is_followed_by_one_of_the_reverse_ev) {
  chooser_->on_delivered(0_ev);
  Instant now = schedule_time(0);
  const auto check = [&] {
    now = now + interval() * 2;
    return checked(now);
  };
  EvIndex silent = check();
  while (silent == 0_ev) {
    probes_->on_answer(silent, Duration::microseconds(10), false);
    silent = check();
  }
  probes_->on_lost(now, silent);
  EXPECT_FALSE(probes_->on_silent_check(0_ev, now));  // not the one that was checked
  EXPECT_FALSE(probes_->on_silent_check(silent, now));
  EXPECT_EQ(check(), 0_ev);
}

// [MRC-EVS-9]
TEST_F(ProbeScheduleTest, two_silent_checks_in_a_row_are_reported_unless_something_was_delivered) {
  for (const bool delivered : {false, true}) {
    make();
    chooser_->on_delivered(0_ev);
    for (int64_t round = 1; round <= 2; ++round) {
      const Instant sent = schedule_time(round * 100'000) + interval();
      const EvIndex ev = checked(schedule_time(round * 100'000));
      probes_->on_lost(sent + interval(), ev);
      EXPECT_EQ(probes_->on_silent_check(ev, sent), round == 2 && !delivered);
      EXPECT_FALSE(probes_->on_silent_check(ev, sent));  // the same one
      if (delivered) health_->on_delivered(sent, 2_ev, sent);
    }
  }
}

// [MRC-EVS-9] What arrives shows that the plane works one way; a check is also lost by chance.
TEST_F(ProbeScheduleTest, three_silent_checks_of_a_plane_are_reported_where_requests_arrive) {
  for (const bool arrives : {true, false}) {  // since the first of them
    make();
    chooser_->on_delivered(0_ev);
    for (int64_t round = 1; round <= 3; ++round) {
      const Instant sent = schedule_time(round * 100'000) + interval();
      const EvIndex ev = checked(schedule_time(round * 100'000));
      if (round == 1) probes_->on_inbound(arrives ? sent : sent - kNanosecond, 0_plane);
      probes_->on_lost(sent + interval(), ev);
      EXPECT_EQ(probes_->on_silent_check(ev, sent), round >= (arrives ? 3 : 2)) << round;
    }
  }
}

// [MRC-EVS-9] The answer waits behind the requests.
TEST_F(ProbeScheduleTest, a_probe_is_excused_where_requests_have_arrived_since) {
  const Instant sent = schedule_time(100'000);
  EXPECT_EQ(probes_->earliest_expiry(0_ev, sent), sent);
  probes_->on_inbound(sent - kNanosecond, 0_plane);
  EXPECT_EQ(probes_->earliest_expiry(0_ev, sent), sent);
  probes_->on_inbound(sent, 0_plane);
  EXPECT_EQ(probes_->earliest_expiry(0_ev, sent), sent + interval() * 4);
  EXPECT_EQ(probes_->earliest_expiry(1_ev, sent), sent);
}

// [MRC-EVS-9] Even an answer that was late.
TEST_F(ProbeScheduleTest, an_answer_begins_the_row_of_silent_checks_anew) {
  chooser_->on_delivered(0_ev);
  for (int64_t round = 1; round <= 4; ++round) {
    const Instant sent = schedule_time(round * 100'000) + interval();
    const EvIndex ev = checked(schedule_time(round * 100'000));
    probes_->on_lost(sent + interval(), ev);
    EXPECT_EQ(probes_->on_silent_check(ev, sent), round == 2 || round == 4) << round;
    if (round == 2) probes_->on_plane_answered(0_plane);
  }
}

TEST_F(ProbeScheduleTest, silent_checks_are_counted_from_the_last_delivery) {
  chooser_->on_delivered(0_ev);
  for (int64_t round = 1; round <= 6; ++round) {
    const Instant sent = schedule_time(round * 100'000) + interval();
    const EvIndex ev = checked(schedule_time(round * 100'000));
    probes_->on_inbound(sent, 0_plane);
    probes_->on_lost(sent + interval(), ev);
    EXPECT_EQ(probes_->on_silent_check(ev, sent), round == 5 || round == 6) << round;
    if (round == 2) health_->on_delivered(sent, 2_ev, sent);
  }
}

TEST_F(ProbeScheduleTest, a_restored_path_ends_the_doubt_about_its_plane) {
  chooser_->on_delivered(0_ev);
  for (int64_t round = 1; round <= 2; ++round) {
    const Instant sent = schedule_time(round * 100'000) + interval();
    const EvIndex ev = checked(schedule_time(round * 100'000));
    probes_->on_lost(sent + interval(), ev);
    EXPECT_FALSE(probes_->on_silent_check(ev, sent));
    retire(sent + interval(), 8_ev);
    restore(sent + interval(), 8_ev);
  }
}

}  // namespace
}  // namespace mrc::core
