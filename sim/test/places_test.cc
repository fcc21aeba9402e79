// The place in a message when a scenario is assembled from several places: a fabric's own file, a built-in fabric
// below it, a key under `sweep`, the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test/scenario_folder.h"

namespace mrc::sim {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Places : public ScenarioFolder {
 protected:
  // Without the folder, which has another name each time.
  std::string error_of(const std::string& yaml, const std::vector<Override>& overrides = {}) {
    const std::string what = ScenarioFolder::error_of(yaml, overrides);
    return what.compare(0, folder_.size(), folder_) == 0 ? what.substr(folder_.size() + 1) : what;
  }
};

const char* const kFlow = "workloads: [{kind: flow}]\n";

TEST_F(Places, a_fabric_file_is_named_with_its_own_lines) {
  write("f.yaml", "name: x\nplanes: 2\n\nbogus: 3\n");
  EXPECT_THAT(error_of(std::string("fabric: f.yaml\n") + kFlow), StartsWith("f.yaml:4: unknown key 'bogus'"));
  write("f.yaml", "base: tiny\nswitch:\n  latency: 1us\n  queue: soon\n");
  EXPECT_THAT(error_of(std::string("fabric: f.yaml\n") + kFlow), StartsWith("f.yaml:4: key 'queue'"));
}

TEST_F(Places, a_fabric_with_a_built_in_base_keeps_its_lines) {
  EXPECT_THAT(error_of(std::string("fabric: {base: tiny,\n  bogus: 3}\n") + kFlow),
              StartsWith("s.yaml:2: unknown key"));
  EXPECT_THAT(error_of(std::string("fabric: {base: tiny,\n  planes: 99}\n") + kFlow), StartsWith("s.yaml:2: key"));
  EXPECT_THAT(error_of(std::string("fabric:\n  base: tiny\n  t1: 4096\n") + kFlow),
              StartsWith("s.yaml:2: key 't1_base'"));
}

TEST_F(Places, fabric_files_that_name_one_another_in_a_circle_are_refused) {
  write("a.yaml", "b.yaml");
  write("b.yaml", "a.yaml");
  EXPECT_THAT(error_of(std::string("fabric: a.yaml\n") + kFlow), HasSubstr("probably in a circle"));
  write("self.yaml", folder_ + "/self.yaml");
  EXPECT_THROW(load_fabric(folder_ + "/self.yaml"), ConfigError);
  write("b.yaml", "tiny");
  EXPECT_EQ(error_of(std::string("fabric: a.yaml\n") + kFlow), "");
}

TEST_F(Places, a_swept_key_is_named_by_its_line) {
  const std::string head = std::string("fabric: tiny\n") + kFlow;
  EXPECT_THAT(error_of(head + "sweep:\n  fabrc.ev.count: [2]\n"), StartsWith("s.yaml:4: unknown key 'fabrc'"));
  EXPECT_THAT(error_of(head + "sweep:\n  fabric.ev.count:\n    - 2\n    - x\n"), StartsWith("s.yaml:6: key 'count'"));
  EXPECT_THAT(error_of(head + "repeat: 2\nseed: abc\n"), StartsWith("s.yaml:4: key 'seed': value is 'abc', allowed"));
}

TEST_F(Places, the_command_line_is_named_as_it_was_written) {
  const std::string good = std::string("fabric: tiny\n") + kFlow;
  EXPECT_THAT(error_of(good, {{"seeed", "3", "--set seeed=3"}}), StartsWith("--set seeed=3: unknown key 'seeed'"));
  EXPECT_THAT(error_of(good, {{"fabric.planes", "99", "--set it"}}), StartsWith("--set it: key 'planes'"));
  EXPECT_THAT(error_of(good, {{"workloads.1.bytes", "9", "--set it"}}), StartsWith("--set it: key"));
  EXPECT_THAT(error_of(good, {{"workloads", "[{kind: flow, byts: 9}]", "--set it"}}),
              StartsWith("--set it: unknown key"));
  for (const char* seed : {"-3", "99999999999999999999", "9223372036854775808"})
    EXPECT_THAT(error_of(good, {{"seed", seed, "--seed N"}}), StartsWith("--seed N: key 'seed'")) << seed;
}

TEST_F(Places, the_command_line_may_set_what_makes_the_points) {
  const std::string good = std::string("fabric: tiny\n") + kFlow;
  EXPECT_EQ(load(good, {{"repeat", "3", ""}}).points.size(), 3u);
  EXPECT_EQ(load(good, {{"sweep.transport.qps", "[1, 2]", ""}, {"repeat", "2", ""}}).points.size(), 4u);
  const ScenarioFile f = load(good + "checks: [{metric: finished, min: 1}]\n", {{"checks.0.min", "0", ""}});
  EXPECT_EQ(*f.checks[0].min, 0);
  // The text that is kept gives the same points again.
  const ScenarioFile again = load(f.text);
  EXPECT_EQ(again.points[0].resolved, f.points[0].resolved);
  EXPECT_EQ(*again.checks[0].min, 0);
}

}  // namespace
}  // namespace mrc::sim
