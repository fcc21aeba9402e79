// What a RoCEv2 sender with selective repeat sends again, and what that costs beside go-back-N.
#include "sim/model/selective_repeat.h"

#include <gtest/gtest.h>

#include "sim/helper/run.h"
#include "sim/helper/scenario.h"

namespace mrc::sim {
namespace {

SelectiveRepeat sent(uint64_t packets) {
  SelectiveRepeat s;
  for (uint64_t psn = 0; psn < packets; ++psn) s.on_sent(psn);
  return s;
}

TEST(SelectiveRepeat, packets_missing_below_a_held_one_are_retransmitted_once) {
  SelectiveRepeat s = sent(6);
  EXPECT_EQ(s.lost(), std::nullopt);
  s.on_held(1);
  s.on_held(4);
  for (const uint64_t missing : {0, 2, 3}) {
    EXPECT_EQ(s.lost(), missing);
    s.on_sent(missing);
  }
  EXPECT_EQ(s.lost(), std::nullopt) << "5 is in flight, and nothing behind it is held";
  s.on_ack(2);
  s.on_held(5);
  EXPECT_EQ(s.lost(), std::nullopt);
}

TEST(SelectiveRepeat, the_timeout_counts_all_that_is_not_held_as_lost) {
  SelectiveRepeat s = sent(4);
  s.on_held(1);
  s.on_sent(0);
  s.on_timeout();
  for (const uint64_t missing : {0, 2, 3}) {
    EXPECT_EQ(s.lost(), missing);
    s.on_sent(missing);
  }
  EXPECT_EQ(s.lost(), std::nullopt);
  s.on_sent(4);
  EXPECT_EQ(s.lost(), std::nullopt) << "a new packet";
}

TEST(SelectiveRepeat, acknowledged_and_unknown_packets_do_not_count) {
  SelectiveRepeat s = sent(3);
  s.on_ack(3);
  s.on_held(1);
  s.on_held(7);
  EXPECT_EQ(s.lost(), std::nullopt);
  s.on_sent(3);
  s.on_sent(4);
  s.on_held(4);
  EXPECT_EQ(s.lost(), 3u);
}

Json counters_of(const std::string& recovery) {
  const Source source{"s.yaml"};
  const ScenarioSpec spec =
      read_scenario(load_yaml(source,
                              "fabric: {base: tiny, planes: 1}\nlimit: 50ms\n"
                              "transport: {kind: roce, pfc: true, dcqcn: {enabled: false}, roce_recovery: " +
                                  recovery +
                                  "}\n"
                                  "workloads: [{kind: flow, name: main, src: 0, dst: 7, bytes: 4MB}]\n"
                                  "faults: [{kind: loss, where: nic_link, nic: 0, direction: up, loss: 1%}]\n"),
                    source, ".");
  const RunResult r = run_scenario(spec);
  EXPECT_TRUE(r.summary["finished"].get<bool>()) << recovery;
  return r.summary["counters"];
}

TEST(SelectiveRepeat, sends_again_what_was_lost_and_little_else) {
  const Json selective = counters_of("selective"), back = counters_of("go_back_n");
  const auto lost = selective["tx_data"].get<int>() - selective["rx_data"].get<int>();
  EXPECT_GE(lost, 3) << "the link loses 1 % of 977 packets";
  EXPECT_EQ(selective["retransmits"].get<int>(), lost);
  EXPECT_GT(back["retransmits"].get<int>(), 3 * selective["retransmits"].get<int>());
}

}  // namespace
}  // namespace mrc::sim
