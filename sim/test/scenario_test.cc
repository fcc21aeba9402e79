// Scenario files: refusals and their messages; sweeps; checks; and the same bytes from the same seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

TEST_F(ScenarioTest, refuses_what_it_does_not_know_by_file_and_line) {
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

TEST_F(ScenarioTest, refuses_what_cannot_be) {
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

TEST_F(ScenarioTest, refuses_what_comes_after_the_limit) {
  const std::string head = "fabric: tiny\nlimit: 10us\nworkloads:\n  - {kind: flow";
  EXPECT_THAT(error_of(head + ", start: 10us}\n"),
              HasSubstr("s.yaml:4: key 'start': value is '10us', allowed: before the limit of 10 us"));
  EXPECT_EQ(error_of(head + ", start: 9us}\n"), "");
  EXPECT_EQ(error_of(head + ", start: 9us, connect: 9us}\n"), "");
  EXPECT_THAT(error_of(head + ", start: 9us, connect: 9001ns}\n"), HasSubstr("s.yaml:4: key 'connect'"));
  EXPECT_THAT(error_of(head + "}\nfaults:\n  - {kind: down, where: t1, at: 11us}\n"), HasSubstr("s.yaml:6: key 'at'"));
  EXPECT_THAT(error_of(head + "}\nmeasure:\n  windows:\n    late: [5us, 11us]\n"),
              HasSubstr("s.yaml:7: key 'late': allowed: a window that ends by the limit of 10 us"));
  EXPECT_EQ(error_of(head + "}\nmeasure:\n  windows:\n    late: [5us, 10us]\n"), "");
}

TEST_F(ScenarioTest, refuses_faults_that_choose_nothing) {
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

TEST_F(ScenarioTest, sweeps_multiply_and_cases_change_several_keys) {
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

TEST_F(ScenarioTest, resolved_file_gives_the_same_point) {
  const ScenarioFile f =
      load("fabric: tiny\nworkloads: [{kind: flow, bytes: 1KB}]\nsweep: {fabric.ev.count: [2, 8]}\n");
  const ScenarioFile again = load(f.points[1].resolved);
  ASSERT_EQ(again.points.size(), 1u);
  EXPECT_EQ(again.points[0].spec.fabric.ev.count, 8u);
  EXPECT_EQ(again.points[0].resolved, f.points[1].resolved);
}

TEST_F(ScenarioTest, checks_take_the_worst_point_and_ratios) {
  ScenarioFile f = load(R"(fabric: tiny
workloads: [{kind: flow}]
sweep: {transport.qps: [1, 2]}
checks:
  - {metric: v, min: 10}
  - {metric: v, where: {transport.qps: 2}, over: {where: {transport.qps: 1}}, min: 2, max: 2}
  - {metric: v, max: 15}
  - {metric: w, max: 15}
  - {metric: v, over: {metric: u}, min: 4, max: 5}
)");
  Json a, b;
  a["v"] = 10;
  a["u"] = 2;
  b["v"] = 20;
  b["u"] = 5;
  const auto r = run_checks(f, {a, b});
  EXPECT_TRUE(r[0].passed);
  EXPECT_EQ(r[0].value, 10);
  EXPECT_TRUE(r[1].passed);
  EXPECT_FALSE(r[2].passed);
  EXPECT_EQ(r[2].value, 20);
  EXPECT_FALSE(r[3].passed);
  EXPECT_THAT(r[3].why, HasSubstr("no such metric"));
  EXPECT_TRUE(r[4].passed) << "each over its own";
}

const char* const kFlaps = R"(fabric: tiny
baseline: true
workloads: [{kind: ring_all_reduce, name: job, bytes: 800KB}]
faults: [{kind: flap, where: t1, plane: 0, t1: 1, at: 5us, mean_up: 10us, mean_down: 10us, distribution: fixed, for: 60us}]
sweep: {transport.qps: [1, 2]}
)";

TEST_F(ScenarioTest, a_baseline_runs_each_point_without_its_faults_too) {
  const ScenarioFile f = load(std::string(kFlaps) + "repeat: 2\n");
  ASSERT_EQ(f.points.size(), 8u);
  for (size_t i = 0; i < 8; i += 2) {
    const Point &healthy = f.points[i], &faulty = f.points[i + 1];
    EXPECT_TRUE(healthy.spec.faults.empty());
    EXPECT_FALSE(healthy.baseline.has_value());
    EXPECT_EQ(faulty.spec.faults.size(), 1u);
    EXPECT_EQ(faulty.baseline, i);
    EXPECT_EQ(healthy.spec.seed, faulty.spec.seed);
    EXPECT_EQ(healthy.setting(), faulty.setting());
    EXPECT_EQ(load(faulty.resolved).points[0].resolved, faulty.resolved);
  }
  EXPECT_EQ(f.points[6].label(), "qps 2, seed 2, healthy");
  EXPECT_EQ(f.points[7].label(), "qps 2, seed 2, faulty");
  EXPECT_THAT(error_of("fabric: tiny\nbaseline: true\nworkloads: [{kind: flow}]\n"),
              HasSubstr("s.yaml:2: key 'baseline': value is 'true', allowed: false where there are no faults"));
}

TEST_F(ScenarioTest, points_that_differ_in_faults_alone_share_their_baseline) {
  const ScenarioFile f = load(R"(fabric: tiny
baseline: true
workloads: [{kind: ring_all_reduce, name: job, bytes: 800KB}]
faults: [{kind: loss, where: spine_link, loss: 1%}]
sweep: {transport.qps: [1, 2], faults.0.loss: [0.01, 0.02, 0.04]}
checks:
  - {metric: v, over: {baseline: true}, max: 4}
  - {metric: v, where: {run: healthy, transport.qps: 2, faults.0.loss: 0.02}, min: 10, max: 10}
)");
  ASSERT_EQ(f.points.size(), 8u);
  std::vector<Json> summaries(8);
  for (size_t i = 0; i < 8; ++i) {
    const size_t healthy = i < 4 ? 0 : 4;
    EXPECT_EQ(f.points[i].baseline, i == healthy ? std::nullopt : std::optional<size_t>(healthy));
    summaries[i]["v"] = summaries[i]["jobs"]["job"]["duration_us"] = i == 0 ? 5 : i == 4 ? 10 : 20;
  }
  EXPECT_EQ(f.points[4].label(), "qps 2, healthy");
  EXPECT_EQ(f.points[7].label(), "qps 2, loss 0.04, faulty");
  const auto r = run_checks(f, summaries);
  EXPECT_TRUE(r[0].passed) << r[0].why;
  EXPECT_EQ(r[0].value, 4);
  EXPECT_TRUE(r[1].passed) << r[1].value << r[1].why;
  const auto curves = sweep_curves(f, summaries);
  ASSERT_EQ(curves.size(), 1u);
  EXPECT_EQ(curves[0].first, "loss-jobs.job.duration_us");
  for (const char* name : {">qps 1, healthy<", ">qps 1, faulty<", ">qps 2, healthy<", ">qps 2, faulty<"})
    EXPECT_THAT(curves[0].second, HasSubstr(name));
  size_t dots = 0;
  for (size_t at = 0; (at = curves[0].second.find("<circle", at)) != std::string::npos; ++at) ++dots;
  EXPECT_EQ(dots, 12u) << "a run without faults counts for each of its points";
}

TEST_F(ScenarioTest, curves_over_a_number_are_means_of_the_seeds) {
  const ScenarioFile f = load(
      "fabric: tiny\nrepeat: 3\nworkloads: [{kind: flow, name: job}]\nsweep: {transport.qps: [1, 2, 4], cases: [{name: "
      "a}, {name: b}]}\n");
  ASSERT_EQ(f.points.size(), 18u);
  Json took;
  took["jobs"]["job"]["duration_us"] = 5;
  const auto curves = sweep_curves(f, std::vector<Json>(18, took));
  ASSERT_EQ(curves.size(), 1u) << "none over the seed";
  EXPECT_EQ(curves[0].first, "qps-jobs.job.duration_us");
  EXPECT_THAT(curves[0].second, testing::AllOf(HasSubstr(">a</text>"), HasSubstr(">b</text>")));
  EXPECT_THAT(curves[0].second, testing::Not(HasSubstr("seed")));
}

const char* const kSweep = R"(fabric: tiny
workloads: [{kind: flow, bytes: 1KB}]
sweep:
  cases: [{name: a}, {name: b b, transport.kind: roce}, {name: c, seed: 9}]
  cases.size: [{name: small}, {name: large, workloads.0: {kind: flow, bytes: 5KB}}]
  transport.qps: [1, 2]
picture: {job: flow, where: {transport.qps: 2}}
checks:
  - {metric: finished, min: 1}
  - {metric: finished, where: {cases: c}, min: 1}
  - {metric: finished, where: {cases: b b, cases.size: large}, min: 1}
  - {metric: finished, where: {cases: [a, b b]}, min: 1}
  - {metric: finished, where: {transport.qps: 1}, over: {where: {transport.qps: 2}}, min: 1}
)";

TEST_F(ScenarioTest, several_lists_of_cases) {
  const ScenarioFile f = load(kSweep);
  ASSERT_EQ(f.points.size(), 12u);
  EXPECT_EQ(f.points[11].label(), "c, large, qps 2");
  EXPECT_EQ(f.points[11].spec.seed, 9u);
  EXPECT_EQ(f.points[11].spec.workloads[0].bytes, 5000u);
  EXPECT_THAT(error_of("fabric: tiny\nworkloads: [{kind: flow}]\nsweep: {cases.size: [3]}\n"),
              HasSubstr("key 'cases.size': value is '3', allowed: maps with a name and dotted paths"));
}

TEST_F(ScenarioTest, only_some_of_the_swept_values) {
  const auto only = [&](const Where& chosen) {
    load(kSweep);
    return load_scenario_file(folder_ + "/s.yaml", {}, chosen);
  };
  const ScenarioFile one = only({{"cases", "b b"}, {"transport.qps", "1"}, {"cases.size", "large"}});
  ASSERT_EQ(one.points.size(), 1u);
  EXPECT_EQ(one.points[0].label(), "b b, large, qps 1");
  EXPECT_EQ(one.checks.size(), 2u) << "without those of other values";
  EXPECT_FALSE(one.picture.has_value());
  EXPECT_EQ(load(one.text).points.size(), 1u) << "the text is that of a scenario of its own";
  const ScenarioFile two = only({{"cases", "a"}, {"cases", "b b"}});
  EXPECT_EQ(two.points.size(), 8u);
  EXPECT_EQ(two.checks.size(), 4u);
  EXPECT_TRUE(two.picture.has_value());
  const auto why = [&](const Where& chosen) {
    try {
      only(chosen);
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(why({{"cases", "d"}}), "--only cases=d: allowed: a, b b, c");
  EXPECT_EQ(why({{"case", "a"}}), "--only case=a: 'case' is not among the keys of sweep");
}

TEST_F(ScenarioTest, checks_mean_the_runs_with_faults_and_compare_with_their_baseline) {
  const std::string checks = R"(checks:
  - {metric: jobs.job.bytes, max: 20}
  - {metric: jobs.job.bytes, over: {baseline: true}, min: 2, max: 2}
  - {metric: jobs.job.bytes, where: {run: healthy}, max: 10}
  - {metric: jobs.job.bytes, over: {where: {run: healthy}}, max: 2.5}
)";
  const ScenarioFile f = load(kFlaps + checks);
  std::vector<Json> summaries(4);
  for (size_t i = 0; i < 4; ++i) summaries[i]["jobs"]["job"]["bytes"] = std::vector<int>{5, 10, 10, 20}[i];
  const auto r = run_checks(f, summaries);
  ASSERT_EQ(r.size(), 4u);
  EXPECT_TRUE(r[0].passed);
  EXPECT_TRUE(r[1].passed) << r[1].value << r[1].why;
  EXPECT_TRUE(r[2].passed);
  EXPECT_EQ(r[2].value, 10);
  EXPECT_FALSE(r[3].passed) << "divided by the mean of the healthy ones";
  EXPECT_THAT(error_of("fabric: tiny\nworkloads: [{kind: flow}]\nchecks:\n  - {metric: finished, min: 1, over: "
                       "{baseline: true}}\n"),
              HasSubstr("s.yaml:4: key 'baseline': value is 'true', allowed: false, because the scenario has no"));
  EXPECT_THAT(
      error_of("fabric: tiny\nbasline: true\nworkloads: [{kind: flow}]\nchecks:\n  - {metric: finished, min: 1, "
               "over: {baseline: true}}\n"),
      HasSubstr("s.yaml:2: unknown key 'basline' in 'scenario', did you mean 'baseline'?"));
  EXPECT_THAT(error_of(std::string(kFlaps) +
                       "checks: [{metric: finished, min: 1, over: {baseline: true, where: {run: healthy}}}]\n"),
              HasSubstr("allowed: false where `where` chooses the points"));
}

TEST_F(ScenarioTest, refuses_checks_of_metrics_that_do_not_exist) {
  const auto why = [&](const std::string& check) {
    try {
      check_metrics(load(std::string(kSmall) + "checks:\n  - {min: 1, " + check + "}\n"));
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  for (const char* metric :
       {"finished", "jobs.main.fct_us.max", "windows.all.plane_gbps.1", "windows.all.receivers_gbps.ring",
        "counters.retransmits", "network.lost", "faults.down.times", "faults.loss.links", "fabric.line_rate_gbps"})
    EXPECT_EQ(why(std::string("metric: ") + metric), "");
  EXPECT_THAT(why("metric: jobs.man.fct_us.max"),
              HasSubstr("s.yaml:12: metric 'jobs.man.fct_us.max' does not exist: 'man' is not in 'jobs', did you mean "
                        "'main'? Allowed: main, ring"));
  EXPECT_THAT(why("metric: windows.all.plane_gbps.2"), HasSubstr("Allowed: 0, 1"));
  EXPECT_THAT(why("metric: faults.flap.times"), HasSubstr("Allowed: loss, down"));
  EXPECT_THAT(why("metric: finished, max: 0.5"), HasSubstr("s.yaml:12: max is below min"));
  EXPECT_THAT(why("metric: jobs.main"), HasSubstr("it is not a number, but a group of several"));
  EXPECT_THAT(why("metric: scenario"), HasSubstr("it is not a number"));
  EXPECT_THAT(why("metric: finished, over: {metric: finishd}"), HasSubstr("did you mean 'finished'?"));
}

// Every number of a run's summary may be checked.
TEST_F(ScenarioTest, every_number_of_a_summary_is_a_metric) {
  for (const char* kind : {"mrc", "roce"}) {
    const ScenarioFile f = load(std::string(kSmall) + "transport: {kind: " + kind + "}\n");
    const Json flat = run_scenario(f.points[0].spec).summary.flatten();
    std::string checks = "checks:\n";
    for (const auto& [pointer, value] : flat.items()) {
      if (!value.is_number()) continue;
      std::string path = pointer.substr(1);
      std::replace(path.begin(), path.end(), '/', '.');
      checks += "  - {metric: '" + path + "', min: 0}\n";
    }
    EXPECT_NO_THROW(check_metrics(load(std::string(kSmall) + "transport: {kind: " + kind + "}\n" + checks)));
  }
}

// All output, byte for byte, for both transports; another seed gives other output.
TEST_F(ScenarioTest, same_seed_same_bytes) {
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

// What arrives again is no goodput, and takes none away from what came before: sums over time only rise.
TEST_F(ScenarioTest, goodput_never_falls) {
  const ScenarioFile f = load(R"(name: duplicates
fabric: tiny
workloads: [{kind: flow, name: main, src: 0, dst: 7, bytes: 2MB, depth: 1}]
faults: [{kind: loss, where: spine_link, loss: 10%}]
limit: 100ms
measure: {interval: 1us}
)");
  const RunResult r = run_scenario(f.points[0].spec);
  EXPECT_TRUE(r.summary["finished"].get<bool>()) << r.summary.dump(1);
  EXPECT_GT(r.summary["counters"]["retransmits"].get<int>(), 0);
  double bytes = 0;
  for (const Row& row : r.rows) {
    EXPECT_LE(row.receivers_gbps[0], f.points[0].spec.fabric.line_rate() / 1e9) << row.at;
    bytes += row.receivers_gbps[0] * 1e3 / 8;
  }
  EXPECT_NEAR(bytes, 2e6, 4) << "and an immediate";
}

TEST_F(ScenarioTest, reports_need_no_network_and_no_script) {
  const ScenarioFile f = load(kSmall);
  const RunResult r = run_scenario(f.points[0].spec);
  const std::string html = run_report(f.points[0].spec, "x", r);
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("plane 1"));
  EXPECT_THAT(html, testing::Not(HasSubstr("<script")));
  EXPECT_THAT(html, testing::Not(HasSubstr("src=")));
}

TEST_F(ScenarioTest, a_report_has_no_heading_with_nothing_below) {
  const std::string scenario = "fabric: tiny\nworkloads: [{kind: permutation, shift: 4, bytes: 20KB";
  for (const char* until : {"", ", until: 30us"}) {
    const ScenarioFile f = load(scenario + until + "}]\n");
    const std::string html = run_report(f.points[0].spec, "x", run_scenario(f.points[0].spec));
    EXPECT_EQ(html.find("<h2>Completion times</h2>") != std::string::npos, *until == 0);
  }
}

TEST(Chart, many_marks_are_numbered_with_a_legend) {
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

TEST(Chart, axes_have_the_unit_that_fits) {
  const auto chart = [](double x, double y) {
    Chart c;
    c.x_label = "time, us";
    c.y_label = "Gb/s";
    c.curves = {{"a", {{0, 0}, {x, y}}}};
    c.marks = {{x / 2, "down"}};
    return line_chart(c);
  };
  EXPECT_THAT(chart(9000, 100), testing::AllOf(HasSubstr(">time, us</text>"), HasSubstr(">Gb/s</text>")));
  const std::string large = chart(60000, 12000);
  EXPECT_THAT(large, testing::AllOf(HasSubstr(">time, ms</text>"), HasSubstr(">Tb/s</text>"), HasSubstr(">60</text>")));
  EXPECT_THAT(large, HasSubstr("x1=\"390.0\"")) << "the mark, in the middle";
  EXPECT_THAT(chart(2e7, 0.5), testing::AllOf(HasSubstr(">time, s</text>"), HasSubstr(">Mb/s</text>")));
  EXPECT_THAT(chart(0.5, 100), HasSubstr(">time, ns</text>"));
  EXPECT_THAT(chart(100, 0), HasSubstr(">Gb/s</text>")) << "nothing to fit";
}

}  // namespace
}  // namespace mrc::sim
