// The parts of a run of mrc-perf that need no device: which queue pair posts next, how long a run and its end may take,
// and when a line of output is due.
#include <gtest/gtest.h>

#include <vector>

#include "chunk_schedule.h"
#include "drain.h"
#include "report_interval.h"
#include "run_time.h"

namespace mrc::perf {
namespace {

using namespace std::chrono_literals;

constexpr RunTime::Clock::time_point kBegin = RunTime::Clock::time_point(1000s);

class ChunkScheduleTest : public testing::Test {
 protected:
  ChunkScheduleTest() {
    options_.qps = 3;
    plan_.chunk = 4;
    plan_.window = 2;
  }
  std::vector<uint32_t> round(ChunkSchedule* schedule) {
    std::vector<uint32_t> posted;
    const bool any =
        schedule->round([this](uint32_t qp) { return qp != blocked_; }, [&](uint32_t qp) { posted.push_back(qp); });
    EXPECT_EQ(any, !posted.empty());
    return posted;
  }

  Options options_;
  Plan plan_;
  uint32_t blocked_ = UINT32_MAX;
};

using Qps = std::vector<uint32_t>;

TEST_F(ChunkScheduleTest, round__until_the_windows_are_full) {
  ChunkSchedule schedule(options_, plan_);
  EXPECT_EQ(round(&schedule), (Qps{0, 1, 2}));
  EXPECT_EQ(round(&schedule), (Qps{0, 1, 2}));
  EXPECT_EQ(round(&schedule), Qps());
  EXPECT_EQ(schedule.in_flight(), 6u);
  schedule.note_completed(1);
  EXPECT_EQ(round(&schedule), Qps{1});
  EXPECT_EQ(schedule.posted(1), 3u);
  EXPECT_FALSE(schedule.all_posted());
}

TEST_F(ChunkScheduleTest, round__ends_with_the_part_of_each_queue_pair) {
  options_.iters = 9;  // three chunks of four
  ChunkSchedule schedule(options_, plan_);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(round(&schedule), (Qps{0, 1, 2}));
  for (int i = 0; i < 2; ++i)
    for (uint32_t qp = 0; qp < 3; ++qp) schedule.note_completed(qp);
  EXPECT_FALSE(schedule.all_posted());
  EXPECT_EQ(round(&schedule), (Qps{0, 1, 2}));
  EXPECT_TRUE(schedule.all_posted());
  EXPECT_EQ(round(&schedule), Qps());
}

TEST_F(ChunkScheduleTest, round__passes_over_the_one_that_may_not_post) {
  ChunkSchedule schedule(options_, plan_);
  blocked_ = 1;
  EXPECT_EQ(round(&schedule), (Qps{0, 2}));
  EXPECT_EQ(schedule.posted(1), 0u);
}

TEST_F(ChunkScheduleTest, round__looks_at_a_few_and_goes_on_behind_them) {
  options_.qps = 100;
  ChunkSchedule schedule(options_, plan_);
  const Qps first = round(&schedule), second = round(&schedule);
  ASSERT_EQ(first.size(), 64u);
  EXPECT_EQ(first.front(), 0u);
  ASSERT_EQ(second.size(), 64u);
  EXPECT_EQ(second.front(), 64u);
  EXPECT_EQ(second.back(), 27u);
}

TEST(RunTime, check__stops_at_the_deadline) {
  RunTime time;
  time.start(kBegin, 1.5);
  EXPECT_TRUE(time.limited());
  time.check(kBegin + 1499ms);
  EXPECT_FALSE(time.stopped());
  time.check(kBegin + 1500ms);
  EXPECT_TRUE(time.stopped());
  time.start(kBegin + 2s, 0);
  EXPECT_FALSE(time.limited());
  time.check(kBegin + 100000s);
  EXPECT_FALSE(time.stopped());
  time.stop();
  EXPECT_TRUE(time.stopped());
}

TEST(Drain, overdue__from_one_completion_to_the_next_and_in_all) {
  Drain drain;
  EXPECT_FALSE(drain.overdue(kBegin, 7, true));
  EXPECT_FALSE(drain.overdue(kBegin + Drain::kStall, 7, true));
  EXPECT_TRUE(drain.overdue(kBegin + Drain::kStall + 1ms, 7, true));
  EXPECT_FALSE(drain.overdue(kBegin + Drain::kStall + 2ms, 8, true));
  EXPECT_FALSE(drain.overdue(kBegin + Drain::kStall * 2, 9, true));
  EXPECT_FALSE(drain.overdue(kBegin + Drain::kLimit, 10, true));
  EXPECT_TRUE(drain.overdue(kBegin + Drain::kLimit + 1ms, 11, true));
  drain.restart();
  EXPECT_FALSE(drain.overdue(kBegin + Drain::kLimit + 2ms, 11, true));
}

TEST(Drain, to_announce__once_after_a_second) {
  Drain drain;
  EXPECT_FALSE(drain.to_announce(kBegin)) << "it has not begun";
  EXPECT_FALSE(drain.overdue(kBegin, 7, true));
  EXPECT_FALSE(drain.to_announce(kBegin + Drain::kUnannounced));
  EXPECT_TRUE(drain.to_announce(kBegin + Drain::kUnannounced + 1ms));
  EXPECT_FALSE(drain.to_announce(kBegin + Drain::kUnannounced + 2ms));
  drain.restart();
  EXPECT_FALSE(drain.to_announce(kBegin + Drain::kUnannounced + 3ms)) << "it begins with the next run";
}

TEST(Drain, overdue__one_that_only_receives_waits_longer) {
  Drain drain;
  EXPECT_FALSE(drain.overdue(kBegin, 0, false));
  EXPECT_FALSE(drain.overdue(kBegin + Drain::kLimit + Drain::kStall, 0, false));
  EXPECT_TRUE(drain.overdue(kBegin + Drain::kLimit + Drain::kStall + 1ms, 0, false));
}

Snapshot counted(uint64_t retransmits, uint64_t sent) {
  Snapshot stats;
  stats.counters["retransmits"] = retransmits;
  stats.planes = {{{"tx_bytes", sent}}};
  return stats;
}

TEST(ReportInterval, counts__since_the_last_line) {
  ReportInterval interval;
  interval.start(kBegin, 1s, counted(5, 1000));
  EXPECT_FALSE(interval.due(kBegin + 999ms));
  EXPECT_TRUE(interval.due(kBegin + 1s));
  EXPECT_EQ(interval.counted(counted(7, 1000), "retransmits"), 2u);
  EXPECT_EQ(interval.sent_by(counted(7, 4000), 0), 3000u);
  EXPECT_EQ(interval.bytes(300), 300u);
  interval.advance(kBegin + 1100ms, counted(7, 4000), 300);
  EXPECT_EQ(interval.next(), kBegin + 2s);
  EXPECT_DOUBLE_EQ(interval.seconds(kBegin + 1600ms), 0.5);
  EXPECT_EQ(interval.counted(counted(8, 4000), "retransmits"), 1u);
  EXPECT_EQ(interval.sent_by(counted(8, 4500), 0), 500u);
  EXPECT_EQ(interval.bytes(1000), 700u);
}

TEST(ReportInterval, advance__leaves_out_lines_that_it_is_too_late_for) {
  ReportInterval interval;
  interval.start(kBegin, 100ms, {});
  interval.advance(kBegin + 350ms, {}, 0);
  EXPECT_EQ(interval.next(), kBegin + 400ms);
}

TEST(ReportInterval, start__without_a_length_is_never_due) {
  ReportInterval interval;
  interval.start(kBegin, 0ms, {});
  EXPECT_FALSE(interval.due(kBegin + 1000000s));
}

}  // namespace
}  // namespace mrc::perf
