// Scenario files: refusals and their messages; sweeps; checks; and the same bytes from the same seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/helper/report.h"
#include "sim/helper/svg.h"
#include "sim/test/scenario_folder.h"

namespace mrc::sim {
namespace {

using testing::HasSubstr;

class ScenarioTest : public ScenarioFolder {};

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

TEST_F(ScenarioTest, RefusesWhatCannotBe) {
  const auto workload = [&](const std::string& w) { return error_of("fabric: tiny\nworkloads:\n  - {" + w + "}\n"); };
  const char* const line = "s.yaml:3: ";
  EXPECT_THAT(workload("kind: incast, nics: 0-2, dst: 0, senders: 7"),
              HasSubstr("'senders': value is '7', allowed: a whole number from 1 to 2"));
  EXPECT_THAT(workload("kind: incast, nics: 0-2, dst: 5, senders: 4"), HasSubstr("from 1 to 3"));
  EXPECT_EQ(workload("kind: incast, nics: 0-2, dst: 0"), "") << "the default takes as many as there are";
  for (const char* kind : {"incast, dst: 0", "permutation", "all_to_all", "ring_all_reduce", "random"})
    EXPECT_THAT(workload(std::string("nics: [0, 1, 0], kind: ") + kind),
                testing::AllOf(HasSubstr(line), HasSubstr("key 'nics': allowed: each NIC once")))
        << kind;
  EXPECT_THAT(workload("kind: permutation, nics: 0-3, shift: 4"),
              HasSubstr("'shift': value is '4', allowed: a whole number from 0 to 3"));
  EXPECT_THAT(workload("kind: send_recv, nics: 0-3, shift: 4"), HasSubstr("from 0 to 3"));
  EXPECT_EQ(workload("kind: send_recv, nics: 0-3, shift: 3"), "");
  for (const char* key : {"nics: 0-3", "shuffle: true"})
    EXPECT_THAT(workload(std::string("kind: flow, ") + key), HasSubstr("unknown key")) << key;
  EXPECT_THAT(workload("kind: trace, file: t.csv, bytes: 3"), HasSubstr("unknown key 'bytes'"));
}

TEST_F(ScenarioTest, RefusesWhatComesAfterTheLimit) {
  const std::string head = "fabric: tiny\nlimit: 10us\nworkloads:\n  - {kind: flow";
  EXPECT_THAT(error_of(head + ", start: 10us}\n"),
              HasSubstr("s.yaml:4: key 'start': value is '10us', allowed: before the limit of 10 us"));
  EXPECT_EQ(error_of(head + ", start: 9us}\n"), "");
  EXPECT_THAT(error_of(head + "}\nfaults:\n  - {kind: down, where: t1, at: 11us}\n"), HasSubstr("s.yaml:6: key 'at'"));
  EXPECT_THAT(error_of(head + "}\nmeasure:\n  windows:\n    late: [5us, 11us]\n"),
              HasSubstr("s.yaml:7: key 'late': allowed: a window that ends by the limit of 10 us"));
  EXPECT_EQ(error_of(head + "}\nmeasure:\n  windows:\n    late: [5us, 10us]\n"), "");
}

TEST_F(ScenarioTest, RefusesFaultsThatChooseNothing) {
  const auto fault = [&](const std::string& f) {
    return error_of("fabric: tiny\nworkloads: [{kind: flow}]\nfaults:\n  - {kind: down, " + f + "}\n");
  };
  // 8 spine links in two planes of 2 x 2.
  EXPECT_THAT(
      fault("where: spine_link, sample: 6%"),
      HasSubstr("s.yaml:4: key 'sample': value is '6%', allowed: 0, or a share that chooses at least one of the 8"));
  EXPECT_EQ(fault("where: spine_link, sample: 7%"), "");
  EXPECT_EQ(fault("where: spine_link, sample: 0"), "") << "said to be none";
  EXPECT_THAT(fault("where: spine_link, plane: 0, sample: 7%"), HasSubstr("one of the 4"));
  EXPECT_THAT(fault("where: t1, plane: 0, t1: [1, 1], count: 2"),
              HasSubstr("'count': value is '2', allowed: a whole number from 1 to 1"));
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

// All output, byte for byte, for both transports; another seed gives other output.
TEST_F(ScenarioTest, SameSeedSameBytes) {
  for (const char* kind : {"mrc", "roce"}) {
    const auto run_once = [&](const std::string& seed) {
      const ScenarioFile f = load(std::string(kSmall) + "transport: {kind: " + kind + "}\nseed: " + seed + "\n");
      const std::string out = folder_ + "/out";
      std::filesystem::remove_all(out);
      Output output(out);
      output.begin(f, {0});
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

TEST_F(ScenarioTest, AReportHasNoHeadingWithNothingBelow) {
  const std::string scenario = "fabric: tiny\nworkloads: [{kind: permutation, shift: 4, bytes: 20KB";
  for (const char* until : {"", ", until: 30us"}) {
    const ScenarioFile f = load(scenario + until + "}]\n");
    const std::string html = run_report(f.points[0].spec, "x", run_scenario(f.points[0].spec));
    EXPECT_EQ(html.find("<h2>Completion times</h2>") != std::string::npos, *until == 0);
  }
}

TEST(Chart, ManyMarksAreNumberedWithALegend) {
  Chart c;
  c.curves = {{"a", {{0, 1}, {100, 2}}}};
  for (int i = 1; i <= 4; ++i) c.marks.push_back({i, "fault " + std::to_string(i)});
  std::string svg = line_chart(c);
  EXPECT_THAT(svg, HasSubstr(">fault 4</text>"));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 860 260\""));
  for (int i = 5; i <= 90; ++i) c.marks.push_back({i, "fault " + std::to_string(i)});
  c.marks.push_back({7, "another"});
  svg = line_chart(c);
  EXPECT_THAT(svg, testing::Not(HasSubstr(">fault 4</text>")));
  EXPECT_THAT(svg, HasSubstr(">4  at 4: fault 4</text>"));
  EXPECT_THAT(svg, HasSubstr(">7  at 7: fault 7 and 1 more</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>fault 7\nanother</title>"));
  EXPECT_THAT(svg, HasSubstr(">and 31 more, as far as number 90</text>"));
  EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 860 548\""));
  EXPECT_THAT(svg, testing::Not(HasSubstr(">4</text>"))) << "would lie on 3";
}

}  // namespace
}  // namespace mrc::sim
