// The grammar of MRC_FAULT: accepted texts give their rules, and others are refused at their position.
#include "datapath/fault_plan.h"

#include <gtest/gtest.h>

#include "datapath/fault.h"

namespace mrc::datapath {
namespace {

std::shared_ptr<const FaultPlan> good(const std::string& text) {
  auto plan = parse_fault(text);
  EXPECT_TRUE(plan) << text << ": " << plan.error().text;
  return plan ? *plan : std::make_shared<const FaultPlan>();
}

std::string bad(const std::string& text) {
  const auto plan = parse_fault(text);
  EXPECT_FALSE(plan) << text;
  return plan ? "" : plan.error().text;
}

TEST(FaultPlan, everything_at_once) {
  auto plan = good(
      "plane=2:blackhole@2s-5s;plane=*:loss=0.001;ev=3:dup=0.01,reorder=0.02,delay=200us;corrupt=1e-6;ecn=0.01;"
      "trim=0.01;burstloss=0.001/8;seed=7");
  EXPECT_EQ(plan->seed, 7u);
  ASSERT_EQ(plan->rules.size(), 9u);
  const FaultRule& hole = plan->rules[0];
  EXPECT_EQ(hole.kind, FaultKind::kBlackhole);
  EXPECT_EQ(hole.scope, FaultRule::Scope::kPlane);
  EXPECT_TRUE(hole.concerns(1_plane, 99_ev));
  EXPECT_FALSE(hole.concerns(0_plane, 1_ev));
  EXPECT_FALSE(hole.concerns(2_plane, 1_ev));
  EXPECT_FALSE(hole.active(Duration::nanoseconds(1999999999)));
  EXPECT_TRUE(hole.active(Duration::seconds(2)));
  EXPECT_TRUE(hole.active(Duration::nanoseconds(4999999999)));
  EXPECT_FALSE(hole.active(Duration::seconds(5)));
  EXPECT_TRUE(plan->rules[1].concerns(31_plane, 0_ev));
  EXPECT_DOUBLE_EQ(plan->rules[1].probability, 0.001);
  EXPECT_TRUE(plan->rules[1].active(Duration::seconds(1000000)));
  for (size_t i = 2; i < 5; ++i) {
    EXPECT_EQ(plan->rules[i].scope, FaultRule::Scope::kEv);
    EXPECT_TRUE(plan->rules[i].concerns(0_plane, 3_ev));
    EXPECT_FALSE(plan->rules[i].concerns(0_plane, 2_ev));
    EXPECT_FALSE(plan->rules[i].concerns(0_plane, 4_ev));
  }
  EXPECT_EQ(plan->rules[4].delay, Duration::microseconds(200));
  EXPECT_EQ(plan->rules[4].delay_max, Duration::microseconds(200));
  EXPECT_DOUBLE_EQ(plan->rules[5].probability, 1e-6);
  EXPECT_EQ(plan->rules[7].kind, FaultKind::kTrim);
  EXPECT_EQ(plan->rules[8].run, 8u);
}

TEST(FaultPlan, blanks_ranges_open_ends_jitter_and_units) {
  auto plan = good(" plane = 2 - 4 : delay = 1.5ms / 2 ms @ 10ms - , loss=1 ; ev=0-15:ecn=0.5@100ns-0.001s; ");
  ASSERT_EQ(plan->rules.size(), 3u);
  EXPECT_EQ(plan->rules[0].delay, Duration::microseconds(1500));
  EXPECT_EQ(plan->rules[0].delay_max, Duration::milliseconds(2));
  EXPECT_EQ(plan->rules[0].from, Duration::milliseconds(10));
  EXPECT_EQ(plan->rules[0].to, Duration::infinite());
  EXPECT_TRUE(plan->rules[1].concerns(3_plane, 0_ev));
  EXPECT_FALSE(plan->rules[1].concerns(4_plane, 0_ev));
  EXPECT_EQ(plan->rules[2].from, Duration::nanoseconds(100));
  EXPECT_EQ(plan->rules[2].to, Duration::milliseconds(1));
  EXPECT_TRUE(plan->rules[2].concerns(0_plane, 15_ev));
  EXPECT_FALSE(plan->rules[2].concerns(0_plane, 16_ev));
  EXPECT_TRUE(good("")->rules.empty());
  EXPECT_EQ(good("seed=18446744073709551615")->seed, UINT64_MAX);
}

TEST(FaultPlan, refusals_name_position_and_allowed_words) {
  EXPECT_EQ(
      bad("lose=0.1"),
      "MRC_FAULT position 1: expected plane=, ev=, seed= or one of loss, burstloss, dup, reorder, delay, corrupt, "
      "ecn, trim, blackhole, got \"lose=0.1\"");
  EXPECT_EQ(
      bad("plane=1:frob"),
      "MRC_FAULT position 9: expected one of loss, burstloss, dup, reorder, delay, corrupt, ecn, trim, blackhole, "
      "got \"frob\"");
  EXPECT_EQ(bad("loss=1.5"), "MRC_FAULT position 6: expected a probability from 0 to 1, got \"1.5\"");
  EXPECT_EQ(bad("loss=x"), "MRC_FAULT position 6: expected a probability from 0 to 1, got \"x\"");
  EXPECT_EQ(bad("plane=0:loss=1"),
            "MRC_FAULT position 7: expected '*' or a whole number from 1 to 32, got \"0:loss=1\"");
  EXPECT_EQ(bad("plane=33:loss=1"),
            "MRC_FAULT position 7: expected '*' or a whole number from 1 to 32, got \"33:loss=1\"");
  EXPECT_EQ(bad("plane=3-2:loss=1"), "MRC_FAULT position 9: expected a whole number from 3 to 32, got \"2:loss=1\"");
  EXPECT_EQ(bad("plane=1 loss=1"), "MRC_FAULT position 9: expected ':', got \"loss=1\"");
  EXPECT_EQ(bad("delay=10"), "MRC_FAULT position 9: expected a unit of time: ns, us, ms or s, got the end");
  EXPECT_EQ(bad("delay=2ms/1ms"), "MRC_FAULT position 11: expected a delay not below the first, got \"1ms\"");
  EXPECT_EQ(bad("burstloss=0.1"),
            "MRC_FAULT position 14: expected '/' and the number of packets in a row, got the end");
  EXPECT_EQ(bad("burstloss=0.1/0"), "MRC_FAULT position 15: expected a whole number from 1 to 1000000, got \"0\"");
  EXPECT_EQ(bad("blackhole@5s-2s"), "MRC_FAULT position 14: expected a time after the first, got \"2s\"");
  EXPECT_EQ(bad("blackhole@5s"), "MRC_FAULT position 13: expected '-', got the end");
  EXPECT_EQ(bad("loss=0.1 loss=0.1"), "MRC_FAULT position 10: expected ';' or ',' or the end, got \"loss=0.1\"");
  EXPECT_EQ(
      bad("loss=0.1;;"),
      "MRC_FAULT position 10: expected plane=, ev=, seed= or one of loss, burstloss, dup, reorder, delay, corrupt, "
      "ecn, trim, blackhole, got \";\"");
  for (const char* text : {"loss=nan", "loss=inf", "loss=0x1", "loss=-0.1", "loss=1e", "loss=1..0", "seed=", "seed=-1",
                           "seed=18446744073709551616", "ev=70000:loss=1", "delay=1e30s", "plane=:loss=1", "loss", ","})
    bad(text);
}

TEST(FaultPlan, help_explains_every_action) {
  std::string help = fault_help();
  for (const char* word : {"loss=", "burstloss=", "dup=", "reorder=", "delay=", "corrupt=", "ecn=", "trim=",
                           "blackhole", "seed=", "plane=", "ev="})
    EXPECT_NE(help.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace mrc::datapath
