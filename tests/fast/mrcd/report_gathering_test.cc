// Collecting the reports of processes: one gathering at a time, its deadline, late reports.
#include "report_gathering.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "at.h"
#include "reports.h"

namespace mrc::mrcd {
namespace {

// The processes with these ids, each of which is sent the tokens in `requested`.
struct Asked {
  ReportGathering::Done done() {
    return [this](const ReportGathering::Reports& reports) { answers.push_back(reports.size()); };
  }
  void report(ClientId process, uint64_t token, int64_t ms) {
    gathering.take(process, token, device_report(static_cast<int64_t>(process)), at(ms));
  }

  std::vector<ClientId> processes = {1, 2};
  std::vector<uint64_t> requested;
  std::vector<size_t> answers;  // by call of `done`: how many reports it got
  ReportGathering gathering{[this](uint64_t token) {
    requested.push_back(token);
    return processes;
  }};
};

using Tokens = std::vector<uint64_t>;
using Counts = std::vector<size_t>;

TEST(ReportGathering, without_a_process_the_answer_comes_at_once) {
  Asked rig;
  rig.processes.clear();
  rig.gathering.gather(at(0), rig.done());
  EXPECT_EQ(rig.answers, Counts({0}));
  EXPECT_FALSE(rig.gathering.is_under_way());
}

TEST(ReportGathering, the_last_process_that_answers_ends_it) {
  Asked rig;
  rig.gathering.gather(at(0), rig.done());
  EXPECT_EQ(rig.requested, Tokens({1}));
  rig.report(2, 1, 10);
  EXPECT_EQ(rig.answers, Counts());
  EXPECT_EQ(rig.gathering.missing(), std::vector<ClientId>({1}));
  rig.report(1, 1, 20);
  EXPECT_EQ(rig.answers, Counts({2}));
  EXPECT_FALSE(rig.gathering.is_under_way());
}

TEST(ReportGathering, the_deadline_is_a_second_after_the_request) {
  Asked rig;
  rig.gathering.gather(at(500), rig.done());
  rig.report(1, 1, 600);
  rig.gathering.tick(at(1499));
  EXPECT_EQ(rig.answers, Counts());
  EXPECT_TRUE(rig.gathering.is_under_way());
  rig.gathering.tick(at(1500));
  EXPECT_EQ(rig.answers, Counts({1}));
  EXPECT_FALSE(rig.gathering.is_under_way());
}

// The report counts as outstanding for ten seconds, whether the process has answered or not.
TEST(ReportGathering, a_process_that_was_asked_is_awaited_for_ten_seconds) {
  Asked rig;
  EXPECT_FALSE(rig.gathering.awaits(1, at(0)));
  rig.gathering.gather(at(0), rig.done());
  EXPECT_TRUE(rig.gathering.awaits(1, at(9999)));
  EXPECT_FALSE(rig.gathering.awaits(1, at(10000)));
  EXPECT_FALSE(rig.gathering.awaits(3, at(0))) << "was not asked";
  rig.gathering.tick(at(1000));
  rig.gathering.gather(at(2000), rig.done());
  EXPECT_TRUE(rig.gathering.awaits(1, at(11999)));
  EXPECT_FALSE(rig.gathering.awaits(1, at(12000)));
}

TEST(ReportGathering, a_late_report_is_not_of_the_next_gathering) {
  Asked rig;
  rig.gathering.gather(at(0), rig.done());
  rig.gathering.tick(at(1000));
  rig.gathering.gather(at(1100), rig.done());
  EXPECT_EQ(rig.requested, Tokens({1, 2}));
  rig.report(1, 1, 1200);
  rig.report(2, 1, 1200);
  EXPECT_EQ(rig.answers, Counts({0}));
  rig.report(1, 2, 1300);
  rig.report(2, 2, 1300);
  EXPECT_EQ(rig.answers, Counts({0, 2}));
}

TEST(ReportGathering, a_process_answers_once_and_one_that_was_not_asked_does_not) {
  Asked rig;
  rig.gathering.gather(at(0), rig.done());
  rig.report(1, 1, 10);
  rig.report(1, 1, 20);
  rig.report(3, 1, 30);
  EXPECT_EQ(rig.answers, Counts());
  rig.report(2, 1, 40);
  EXPECT_EQ(rig.answers, Counts({2}));
}

TEST(ReportGathering, an_answer_without_a_report_is_waited_for_no_longer) {
  Asked rig;
  rig.gathering.gather(at(0), rig.done());
  rig.gathering.take(1, 1, std::nullopt, at(10));
  rig.report(2, 1, 20);
  EXPECT_EQ(rig.answers, Counts({1}));
}

TEST(ReportGathering, calls_meanwhile_share_the_next_one) {
  Asked rig;
  for (int i = 0; i < 4; ++i) rig.gathering.gather(at(i), rig.done());
  EXPECT_EQ(rig.requested, Tokens({1}));
  rig.report(1, 1, 10);
  rig.report(2, 1, 10);
  EXPECT_EQ(rig.answers, Counts({2}));
  EXPECT_EQ(rig.requested, Tokens({1, 2}));
  rig.report(1, 2, 20);
  rig.gathering.tick(at(1009));
  EXPECT_EQ(rig.answers.size(), 1u);
  rig.gathering.tick(at(1010));  // its second began when the first one ended
  EXPECT_EQ(rig.answers, Counts({2, 1, 1, 1}));
  EXPECT_EQ(rig.requested, Tokens({1, 2}));
}

TEST(ReportGathering, without_the_process_that_has_gone_the_next_tick_answers) {
  Asked rig;
  rig.gathering.gather(at(0), rig.done());
  rig.report(1, 1, 10);
  rig.gathering.forget(2);
  EXPECT_FALSE(rig.gathering.awaits(2, at(20)));
  EXPECT_EQ(rig.answers, Counts());
  rig.gathering.tick(at(20));
  EXPECT_EQ(rig.answers, Counts({1}));
}

}  // namespace
}  // namespace mrc::mrcd
