// The report of a run that has failed: what this side had done until then.
#include "report.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace mrc::perf {
namespace {

using nlohmann::json;

Plan plan_of(uint64_t size) {
  Plan plan;
  plan.size = size;
  plan.depth = 16;
  plan.chunk = 4;
  return plan;
}

json own_side(uint64_t sent, uint64_t received, double seconds) {
  return {{"sent", sent},        {"seconds", seconds}, {"cpu_s", 0.5},        {"received", received},
          {"checked", received}, {"mismatches", 0},    {"first_mismatch", ""}};
}

std::string printed_by(const json& report, void (*print)(const json&, std::FILE*)) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* const out = open_memstream(&text, &size);
  print(report, out);
  std::fclose(out);
  const std::string all(text, size);
  std::free(text);
  return all;
}

TEST(IncompleteSize, has_what_this_side_has_done) {
  Options o;
  json report = make_report(o, "mrc0", 3);
  add_incomplete_size(&report, o, plan_of(1000), true, own_side(2000, 0, 2));
  ASSERT_EQ(report["sizes"].size(), 1u);
  const json& entry = report["sizes"][0];
  EXPECT_EQ(entry["incomplete"], true);
  EXPECT_EQ(entry["messages"], 2000);
  EXPECT_EQ(entry["bytes"], 2000000);
  EXPECT_EQ(entry["seconds"], 2.0);
  EXPECT_DOUBLE_EQ(entry["gbps"].get<double>(), 0.008);
  EXPECT_DOUBLE_EQ(entry["message_rate"].get<double>(), 1000);
  EXPECT_EQ(entry["cpu_s"], (json{{"client", 0.5}}));
  EXPECT_FALSE(entry.contains("mismatches"));
  EXPECT_NE(printed_by(report, print_size).find("not checked, incomplete"), std::string::npos);
}

TEST(IncompleteSize, has_no_rate_where_nothing_was_done) {
  Options o;
  o.verify = true;
  json report = make_report(o, "mrc0", 3);
  add_incomplete_size(&report, o, plan_of(1000), false, own_side(0, 0, 0));
  const json& entry = report["sizes"][0];
  EXPECT_EQ(entry["messages"], 0);
  EXPECT_EQ(entry["gbps"], 0.0);
  EXPECT_EQ(entry["cpu_s_per_gb"], 0.0);
  EXPECT_EQ(entry["cpu_s"], (json{{"server", 0.5}}));
  EXPECT_EQ(entry["mismatches"], 0);
  EXPECT_EQ(printed_by(report, print_size), "");
}

TEST(IncompleteSize, of_one_message_is_printed) {
  Options o;
  json report = make_report(o, "mrc0", 3);
  add_incomplete_size(&report, o, plan_of(1000), true, own_side(1, 0, 1));
  EXPECT_NE(printed_by(report, print_size), "");
}

TEST(IncompleteSize, of_datagrams_counts_what_has_arrived_here) {
  Options o;
  o.transport = Transport::kUd;
  json report = make_report(o, "mrc0", 3);
  json mine = own_side(500, 30, 1);
  mine["receive_s"] = 3.0;
  add_incomplete_size(&report, o, plan_of(1000), true, mine);
  const json& entry = report["sizes"][0];
  EXPECT_EQ(entry["messages"], 30);
  EXPECT_EQ(entry["sent"], 500);
  EXPECT_EQ(entry["seconds"], 3.0);
  EXPECT_FALSE(entry.contains("lost")) << "the other side has not said what arrived there";
}

TEST(IncompleteSize, of_a_ping_pong_has_the_rounds_until_then) {
  Options o;
  o.test = perf::Test::kLatency;
  json report = make_report(o, "mrc0", 3);
  add_incomplete_size(&report, o, plan_of(2), true, json{{"samples", 7}, {"p50_us", 12.5}});
  EXPECT_EQ(report["sizes"][0]["incomplete"], true);
  EXPECT_EQ(report["sizes"][0]["latency"]["samples"], 7);
}

TEST(Paths, tell_active_evs_from_spare_ones) {
  json report = {{"planes", json::array()}, {"evs", json::array()}, {"ok", true}};
  EXPECT_EQ(printed_by(report, print_paths).find("active of"), std::string::npos);
  for (const bool active : {true, false, true})
    report["evs"].push_back({{"value", 1}, {"plane", 1}, {"state", "GOOD"}, {"active", active}, {"tx", 0}});
  EXPECT_NE(printed_by(report, print_paths).find("EVs: 2 active of 3, the rest spare\n"), std::string::npos);
}

TEST(Paths, of_a_run_that_failed_end_without_a_verdict_on_the_data) {
  const json plane = {{"plane", 1}, {"tx_packets", 1}};
  json report = {{"planes", json::array({plane})}, {"evs", json::array()}, {"ok", false}};
  EXPECT_NE(printed_by(report, print_paths).find("FAILED: the data was wrong"), std::string::npos);
  report["error"] = "the peer process is gone";
  const std::string printed = printed_by(report, print_paths);
  EXPECT_NE(printed.find("plane"), std::string::npos);
  EXPECT_EQ(printed.find("FAILED"), std::string::npos);
}

TEST(Paths, of_a_run_that_failed_before_its_first_packet_are_not_printed) {
  const json plane = {{"plane", 1}, {"tx_packets", 0}, {"rx_packets", 0}};
  json report = {{"planes", json::array({plane})}, {"evs", json::array()}, {"ok", false}, {"error", "no peer"}};
  EXPECT_EQ(printed_by(report, print_paths), "");
  report["planes"][0]["rx_packets"] = 1;
  EXPECT_NE(printed_by(report, print_paths), "");
}

}  // namespace
}  // namespace mrc::perf
