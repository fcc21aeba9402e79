// KEYS.md and the reader have the same keys: the reader's allowed keys are found by a key that it does not
// have, map by map.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "core/congestion/registry.h"
#include "sim/helper/output.h"
#include "sim/helper/scenario.h"
#include "sim/helper/sweep.h"

namespace mrc::sim {
namespace {

using Keys = std::map<std::string, std::set<std::string>>;  // of each map

// A section per map, or for several alike: "## `nic_link`, `spine_link`"; rows "| `rate` | ...".
Keys documented() {
  Keys all;
  std::vector<std::string> sections;
  std::istringstream text(read_file(std::string(MRC_SOURCE_DIR "/sim") + "/KEYS.md"));
  const std::regex word("`([a-z0-9_]+)`");
  for (std::string line; std::getline(text, line);) {
    std::smatch m;
    if (line.compare(0, 3, "## ") == 0) {
      sections.clear();
      for (; std::regex_search(line, m, word); line = m.suffix()) sections.push_back(m[1]);
    } else if (line.compare(0, 3, "| `") == 0 && std::regex_search(line, m, word)) {
      for (const std::string& s : sections) EXPECT_TRUE(all[s].insert(m[1]).second) << s << " has it twice: " << line;
    }
  }
  return all;
}

// The keys listed by the message about the key `zzz`, added to the map in it.
void ask(Keys* keys, const std::string& yaml) {
  const std::string file = testing::TempDir() + "/mrc-sim-keys-" + std::to_string(getpid()) + ".yaml";
  write_file(file, yaml);
  try {
    load_scenario_file(file);
    ADD_FAILURE() << "not refused: " << yaml;
  } catch (const ConfigError& e) {
    std::smatch m;
    const std::string what = e.what();
    ASSERT_TRUE(std::regex_search(what, m, std::regex("unknown key 'zzz' in '([a-z_]+)'.* Allowed: (.*)$"))) << what;
    std::istringstream list(m[2]);
    for (std::string key; list >> key;) (*keys)[m[1]].insert(key.substr(0, key.find(',')));
  }
  std::remove(file.c_str());
}

Keys known() {
  Keys keys;
  const std::string flow = "workloads: [{kind: flow}]\n", tiny = "fabric: tiny\n" + flow;
  for (const char* map : {"", "nic_link: ", "spine_link: ", "switch: ", "usid: ", "ev: ", "lab: "}) {
    const std::string inner = *map == 0 ? "zzz: 1" : std::string(map) + "{zzz: 1}";
    ask(&keys, "fabric: {" + inner + "}\n" + flow);
  }
  for (const char* more : {"zzz: 1", "transport: {zzz: 1}", "transport: {dcqcn: {zzz: 1}}", "measure: {zzz: 1}",
                           "checks: [{metric: x, zzz: 1}]", "checks: [{metric: x, over: {zzz: 1}}]"})
    ask(&keys, tiny + more + "\n");
  for (const core::CongestionAlgorithm* a : core::congestion_algorithms())
    if (!a->parameters.empty()) ask(&keys, tiny + "transport: {" + a->name + ": {zzz: 1}}\n");
  for (const char* kind : kWorkloadWords)
    ask(&keys, "fabric: tiny\nworkloads: [{zzz: 1, kind: " + std::string(kind) +
                   (kind == std::string("trace") ? ", file: x.csv" : "") + "}]\n");
  for (const char* fault :
       {"down, where: nic_link", "down, where: spine_link", "flap, mean_up: 1us, mean_down: 1us, where: t0",
        "background, mean_up: 1us, mean_down: 1us, where: nic_link", "stuck, where: t1",
        "loss, loss: 0, where: nic_link", "decay, loss_to: 0, for: 1us, where: nic_link",
        "slow, rate: 1G, where: nic_link", "latency, extra: 1us, where: nic_link"})
    ask(&keys, tiny + "faults: [{zzz: 1, kind: " + fault + "}]\n");
  return keys;
}

TEST(Scenario, every_key_is_documented_and_every_documented_key_is_known) {
  Keys page = documented();
  EXPECT_EQ(page["fabric"].erase("base"), 1u) << "replaced before the map is read";
  Keys read = known();
  for (const Keys& side : {page, read})
    for (const auto& [section, keys] : side)
      for (const std::string& key : keys) {
        EXPECT_TRUE(page[section].count(key)) << "sim/KEYS.md lacks '" << key << "' in the section `" << section << "`";
        EXPECT_TRUE(read[section].count(key)) << "sim/KEYS.md, section `" << section << "`: no reader knows " << key;
      }
}

// The row of a key: "| `kind` | choice | `flow`, ...".
std::string row_of(const std::string& section, const std::string& key) {
  const std::string page = read_file(std::string(MRC_SOURCE_DIR "/sim") + "/KEYS.md");
  const size_t head = page.find("## `" + section + "`"), row = page.find("\n| `" + key + "` |", head);
  EXPECT_NE(head, std::string::npos) << section;
  EXPECT_NE(row, std::string::npos) << section << " " << key;
  return row == std::string::npos ? "" : page.substr(row + 1, page.find('\n', row + 1) - row - 1);
}

TEST(Scenario, every_workload_and_algorithm_is_in_its_list_of_the_documentation) {
  const std::string readme = read_file(std::string(MRC_SOURCE_DIR "/sim") + "/README.md");
  for (const char* kind : kWorkloadWords) {
    EXPECT_THAT(row_of("workload", "kind"), testing::HasSubstr("`" + std::string(kind) + "`"));
    EXPECT_THAT(readme.substr(readme.find("Workloads: ")), testing::HasSubstr(kind)) << "sim/README.md";
  }
  for (const core::CongestionAlgorithm* a : core::congestion_algorithms())
    EXPECT_THAT(row_of("transport", "congestion"), testing::HasSubstr("`" + std::string(a->name) + "`"));
}

}  // namespace
}  // namespace mrc::sim
