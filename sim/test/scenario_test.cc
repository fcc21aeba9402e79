// Scenario files: what is refused and how it is said; sweeps; checks; and the same bytes from the same seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "sim/helper/output.h"
#include "sim/helper/report.h"

namespace mrc::sim {
namespace {

using testing::HasSubstr;

class ScenarioTest : public testing::Test {
 protected:
  ScenarioTest() {
    std::string name = testing::TempDir() + "/mrc-sim-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~ScenarioTest() override { std::filesystem::remove_all(folder_); }
  ScenarioFile load(const std::string& yaml) {
    write_file(folder_ + "/s.yaml", yaml);
    return load_scenario_file(folder_ + "/s.yaml");
  }
  std::string error_of(const std::string& yaml) {
    try {
      load(yaml);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "";
  }
  std::string folder_;
};

const char* const kSmall = R"(name: small
fabric: tiny
workloads:
  - {kind: all_to_all, name: main, bytes: 20KB}
  - {kind: ring_all_reduce, name: ring, bytes: 400KB, start: 3us}
faults:
  - {kind: loss, where: spine_link, loss: 2%}
  - {kind: down, where: spine_link, plane: 0, t0: 0, t1: 1, at: 10us, for: 50us}
limit: 20ms
measure: {interval: 2us, windows: {all: [1us, 20us]}}
)";

TEST_F(ScenarioTest, RefusesWhatItDoesNotKnowByFileAndLine) {
  EXPECT_THAT(error_of("fabric: tiny\nworkloads:\n  - {kind: flow, byts: 3}\n"),
              HasSubstr("s.yaml:3: unknown key 'byts' in 'workload', did you mean 'bytes'?"));
  EXPECT_THAT(error_of("fabric: tiny\nworkloads:\n  - {kind: storm}\n"), HasSubstr("value is 'storm', allowed: flow"));
  EXPECT_THAT(error_of("fabric: huge\nworkloads: [{kind: flow}]\n"),
              HasSubstr("s.yaml:1: key 'fabric': value is 'huge', allowed: tiny"));
  EXPECT_THAT(error_of("fabric: tiny\nworkloads: [{kind: flow, dst: 8}]\n"), HasSubstr("from 0 to 7"));
  EXPECT_THAT(error_of("fabric: tiny\nworkloads: [{kind: flow, src: 1}]\n"), HasSubstr("another NIC than src"));
  EXPECT_THAT(error_of("fabric: tiny\n"), HasSubstr("needs the key 'workloads'"));
  EXPECT_THAT(error_of("fabric: tiny\nworkloads: [{kind: flow}]\nfaults: [{kind: stuck, where: nic_link}]\n"),
              HasSubstr("allowed: t0, t1"));
  EXPECT_THAT(error_of("fabric: tiny\nworkloads: [{kind: flow}]\nfaults: [{kind: loss, where: nic_link}]\n"),
              HasSubstr("needs the key 'loss'"));
  EXPECT_THAT(error_of("fabric: tiny\nworkloads: [{kind: flow}]\ntransport: {qps: 0}\n"), HasSubstr("from 1 to 64"));
  EXPECT_THAT(error_of("fabric: tiny\nworkloads: [{kind: flow}]\nsweep: {transport.qps: []}\n"),
              HasSubstr("allowed: a list"));
  EXPECT_THAT(error_of("fabric: tiny\nworkloads: [{kind: flow}]\nchecks: [{metric: x, min: 1, where: {y: 1}}]\n"),
              HasSubstr("not among the keys of sweep"));
}

TEST_F(ScenarioTest, SweepsMultiplyAndCasesChangeSeveralKeys) {
  const ScenarioFile f = load(R"(fabric: tiny
workloads: [{kind: flow, bytes: 1KB}]
sweep:
  fabric.ev.count: [2, 8]
  cases:
    - {name: a}
    - {name: b, transport.kind: roce, workloads.0.bytes: 5KB}
repeat: 2
)");
  ASSERT_EQ(f.points.size(), 8u);
  EXPECT_EQ(f.points[0].spec.fabric.ev.count, 2u);
  EXPECT_EQ(f.points[7].spec.fabric.ev.count, 8u);
  EXPECT_EQ(f.points[7].spec.transport.kind, TransportKind::kRoce);
  EXPECT_EQ(f.points[7].spec.workloads[0].bytes, 5000u);
  EXPECT_EQ(f.points[7].spec.seed, 2u);
  EXPECT_EQ(f.points[7].label(), "count 8, b, seed 2");
}

TEST_F(ScenarioTest, ResolvedFileGivesTheSamePoint) {
  const ScenarioFile f =
      load("fabric: tiny\nworkloads: [{kind: flow, bytes: 1KB}]\nsweep: {fabric.ev.count: [2, 8]}\n");
  const ScenarioFile again = load(f.points[1].resolved);
  ASSERT_EQ(again.points.size(), 1u);
  EXPECT_EQ(again.points[0].spec.fabric.ev.count, 8u);
  EXPECT_EQ(again.points[0].resolved, f.points[1].resolved);
}

TEST_F(ScenarioTest, ChecksTakeTheWorstPointAndRatios) {
  ScenarioFile f = load(R"(fabric: tiny
workloads: [{kind: flow}]
sweep: {transport.qps: [1, 2]}
checks:
  - {metric: v, min: 10}
  - {metric: v, where: {transport.qps: 2}, over: {where: {transport.qps: 1}}, min: 2, max: 2}
  - {metric: v, max: 15}
  - {metric: w, max: 15}
)");
  Json a, b;
  a["v"] = 10;
  b["v"] = 20;
  const auto r = run_checks(f, {a, b});
  EXPECT_TRUE(r[0].passed);
  EXPECT_EQ(r[0].value, 10);
  EXPECT_TRUE(r[1].passed);
  EXPECT_FALSE(r[2].passed);
  EXPECT_EQ(r[2].value, 20);
  EXPECT_FALSE(r[3].passed);
  EXPECT_THAT(r[3].why, HasSubstr("no such metric"));
}

// Everything that is written, byte for byte, for both transports; another seed gives something else.
TEST_F(ScenarioTest, SameSeedSameBytes) {
  for (const char* kind : {"mrc", "roce"}) {
    const auto run_once = [&](const std::string& seed) {
      const ScenarioFile f = load(std::string(kSmall) + "transport: {kind: " + kind + "}\nseed: " + seed + "\n");
      const std::string out = folder_ + "/out";
      std::filesystem::remove_all(out);
      Output output(out);
      output.begin(f);
      const RunResult r = run_scenario(f.points[0].spec);
      EXPECT_TRUE(r.summary["finished"].get<bool>()) << r.summary.dump(1);
      output.write_point(f, 0, r);
      EXPECT_TRUE(output.gather(f).has_value());
      std::string all;
      for (const char* name :
           {"points/000/summary.json", "points/000/series.csv", "points/000/messages.csv", "points/000/links.csv",
            "points/000/ev_states.csv", "points/000/report.html", "report.html"})
        all += read_file(out + "/" + name);
      return all;
    };
    const std::string first = run_once("5");
    EXPECT_GT(first.size(), 10000u);
    EXPECT_EQ(first, run_once("5"));
    EXPECT_NE(first, run_once("6"));
  }
}

TEST_F(ScenarioTest, ReportsNeedNoNetworkAndNoScript) {
  const ScenarioFile f = load(kSmall);
  const RunResult r = run_scenario(f.points[0].spec);
  const std::string html = run_report(f.points[0].spec, "x", r);
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("plane 1"));
  EXPECT_THAT(html, testing::Not(HasSubstr("<script")));
  EXPECT_THAT(html, testing::Not(HasSubstr("src=")));
}

}  // namespace
}  // namespace mrc::sim
