// The sentence and the picture that open the overview page.
#include "sim/helper/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test/scenario_folder.h"

namespace mrc::sim {
namespace {

using testing::HasSubstr;

class Overview : public ScenarioFolder {
 protected:
  static Json took(double us, const Json& faults = Json()) {
    Json s;
    s["unfinished"] = 0;
    s["qp_errors"] = 0;
    s["jobs"]["job"] = {{"operations", 8}, {"duration_us", us}, {"fct_us", {{"max", us}}}};
    if (!faults.is_null()) s["faults"] = faults;
    return s;
  }
  static Json delivered(double gbps, const Json& faults = Json()) {
    Json s = took(100, faults);
    s["jobs"]["job"].erase("fct_us");
    s["jobs"]["job"]["gbps"] = gbps;
    return s;
  }
  static Json fault(const char* kind, int times, int links, int switches, const char* only = nullptr) {
    Json j;
    j[kind] = {{"times", times}, {"links", links}, {"switches", switches}};
    if (only != nullptr) j[kind]["only"] = only;
    return j;
  }
  ScenarioFile pair(const std::string& more = "") {
    return load(
        "fabric: tiny\nbaseline: true\nworkloads: [{kind: ring_all_reduce, name: job}]\n"
        "faults: [{kind: flap, where: t1, plane: 0, t1: 1, mean_up: 1us, mean_down: 1us}]\n" +
        more);
  }
  const Json flaps_ = fault("flap", 7, 0, 1, "plane 0 T1 3");
};

TEST_F(Overview, says_what_the_faults_cost) {
  const ScenarioFile f = pair();
  const auto sentence = [&](const Json& healthy, const Json& faulty) {
    return overview_sentence(f, {healthy, faulty});
  };
  EXPECT_EQ(sentence(took(5940), took(6035, flaps_)),
            "The job ran 1.6 % longer, 95 us lost to 7 flaps of plane 0 T1 3 (healthy 5940 us, faulty 6035 us).");
  EXPECT_EQ(sentence(took(100), took(150, fault("down", 1, 1, 0, "plane 1 NIC 2"))),
            "The job ran 50 % longer, 50 us lost to 1 failure of plane 1 NIC 2 (healthy 100 us, faulty 150 us).");
  EXPECT_EQ(sentence(took(100), took(110, fault("loss", 16, 16, 0))),
            "The job ran 10 % longer, 10 us lost to 16 periods of loss of 16 links (healthy 100 us, faulty 110 us).");
  EXPECT_EQ(sentence(took(100), took(100, flaps_)),
            "The job ran as long as without faults, despite 7 flaps of plane 0 T1 3 (healthy 100 us, faulty 100 us).");
  EXPECT_EQ(sentence(took(100), took(98, fault("stuck", 2, 0, 2))),
            "The job ran 2 % shorter, despite 2 stalls of 2 switches (healthy 100 us, faulty 98 us).");
  EXPECT_EQ(sentence(took(100), took(100, fault("flap", 0, 0, 0))),
            "The job met no fault before its end (healthy 100 us, faulty 100 us).");
  EXPECT_EQ(
      sentence(delivered(800), delivered(780, flaps_)),
      "The job delivered 2.5 % less, 20 Gb/s lost to 7 flaps of plane 0 T1 3 (healthy 800 Gb/s, faulty 780 Gb/s).");
  Json unfinished = took(50, flaps_);
  unfinished["unfinished"] = 3;
  EXPECT_EQ(
      sentence(took(100), unfinished),
      "The job did not finish: 3 of 8 messages unfinished, 0 QPs failed, after 7 flaps of plane 0 T1 3 (healthy 100 us).");
}

TEST_F(Overview, of_several_points_the_worst) {
  const ScenarioFile f = pair("sweep: {transport.qps: [1, 2]}\n");
  EXPECT_THAT(overview_sentence(f, {took(100), took(101, flaps_), took(100), took(120, flaps_)}),
              testing::StartsWith("At worst (qps 2) the job ran 20 % longer, 20 us lost to"));
  Json unfinished = took(50, flaps_);
  unfinished["unfinished"] = 1;
  EXPECT_THAT(overview_sentence(f, {took(100), unfinished, took(100), took(120, flaps_)}),
              testing::StartsWith("At worst (qps 1) the job did not finish"));
}

TEST_F(Overview, without_a_baseline_the_range) {
  const char* const head = "fabric: tiny\nworkloads: [{kind: flow, name: job}]\n";
  EXPECT_EQ(overview_sentence(load(head), {took(123.4, flaps_)}), "The job took 123 us, with 7 flaps of plane 0 T1 3.");
  const ScenarioFile f = load(std::string(head) + "sweep: {transport.qps: [1, 2, 4]}\n");
  EXPECT_EQ(overview_sentence(f, {took(30), took(10), took(20)}),
            "The job took from 10 us (qps 2) to 30 us (qps 1) in 3 points.");
  EXPECT_EQ(overview_sentence(f, {took(30), took(30), took(30)}), "The job took 30 us in each of 3 points.");
  const std::string bars = overview_picture(f, {took(30), took(10), took(20)}, [](size_t) { return PointSeries(); });
  EXPECT_THAT(bars, HasSubstr("Duration of job, us"));
  EXPECT_THAT(bars, HasSubstr(">qps 4</text>"));
}

TEST_F(Overview, opens_the_report_of_a_real_pair) {
  const ScenarioFile f = load(R"(fabric: tiny
baseline: true
workloads: [{kind: ring_all_reduce, name: job, bytes: 800KB}]
faults: [{kind: flap, where: t1, plane: 0, t1: 1, at: 5us, mean_up: 9us, mean_down: 9us, distribution: fixed, for: 40us}]
measure: {interval: 2us}
)");
  Output output(folder_ + "/out");
  output.begin(f, {0, 1});
  for (size_t i = 0; i < 2; ++i) output.write_point(f, i, run_scenario(f.points[i].spec));
  ASSERT_TRUE(output.gather(f).has_value());
  const std::string page = read_file(folder_ + "/out/report.html");
  const size_t sentence = page.find("<p class=\"first\">The job ran"), picture = page.find("<svg");
  ASSERT_NE(sentence, std::string::npos) << output.sentence();
  EXPECT_LT(sentence, picture);
  EXPECT_LT(picture, page.find("<h2>"));
  EXPECT_THAT(page, HasSubstr("flaps of plane 0 T1 1"));
  const std::string overlay = read_file(folder_ + "/out/points/001/baseline.svg");
  for (const char* text : {">healthy</text>", ">faulty</text>", "down plane 0 T1 1", "up plane 0 T1 1"})
    EXPECT_THAT(overlay, HasSubstr(text));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out/points/000/baseline.svg"));
  EXPECT_THAT(read_file(folder_ + "/out/points/001/faults.csv"),
              testing::StartsWith("time_us,what\n5.000000,down plane 0 T1 1\n14.000000,up plane 0 T1 1\n"));
}

TEST_F(Overview, the_chosen_picture_shows_the_receivers_of_a_job_per_point) {
  const std::string text =
      "fabric: tiny\nrepeat: 2\nworkloads: [{kind: flow, name: victim}, {kind: flow, name: other, src: 2, dst: 3}]\n"
      "sweep: {transport.qps: [1, 2], cases: [{name: mrc}, {name: dcqcn, transport.kind: roce}]}\n";
  const ScenarioFile f = load(text + "picture: {job: victim, where: {transport.qps: 2}}\n");
  std::vector<size_t> seen;
  const std::string svg = overview_picture(f, std::vector<Json>(8, took(1)), [&](size_t i) {
    seen.push_back(i);
    return parse_series("time_us,plane0_gbps,victim_receivers_gbps,other_receivers_gbps\n1,70,30,40\n2,50,20,30\n", "");
  });
  EXPECT_EQ(seen, (std::vector<size_t>{4, 6})) << "one of each two repetitions";
  EXPECT_THAT(svg, AllOf(HasSubstr("receivers of victim"), HasSubstr(">mrc<"), HasSubstr(">dcqcn<")));
  EXPECT_THAT(svg, Not(HasSubstr("qps 2")));
  seen.clear();
  const ScenarioFile both = load(text + "picture: {job: victim, where: {transport.qps: 2, cases: [mrc, dcqcn]}}\n");
  EXPECT_THAT(overview_picture(both, std::vector<Json>(8, took(1)),
                               [&](size_t i) {
                                 seen.push_back(i);
                                 return parse_series("time_us,plane0_gbps,victim_receivers_gbps\n1,70,30\n2,50,20\n",
                                                     "");
                               }),
              HasSubstr(">dcqcn<"));
  EXPECT_EQ(seen, (std::vector<size_t>{4, 6}));
  for (const char* wrong : {"{job: vctim}", "{job: victim, where: {cases: [mrc, rcoe]}}", "{where: {transport.qps: 2}}",
                            "{job: victim, where: {transport.qps: 3}}"})
    EXPECT_THROW(load(text + "picture: " + wrong + "\n"), ConfigError) << wrong;
}

TEST_F(Overview, a_series_has_the_receivers_of_each_job) {
  const PointSeries s =
      parse_series("time_us,plane0_gbps,plane1_gbps,marked,a_receivers_gbps,b_receivers_gbps\n1,7,8,5,3,4\n", "");
  EXPECT_EQ(s.gbps, (std::vector<std::pair<double, double>>{{1, 15}}));
  EXPECT_EQ(s.receivers_gbps.at("a"), (std::vector<std::pair<double, double>>{{1, 3}}));
  EXPECT_EQ(s.receivers_gbps.at("b"), (std::vector<std::pair<double, double>>{{1, 4}}));
}

}  // namespace
}  // namespace mrc::sim
