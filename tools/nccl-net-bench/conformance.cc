#include "conformance.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cases.h"
#include "compare.h"

namespace mrc::net_bench {

const std::vector<Case>& all_cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> cases;
    for (auto group : {setup_cases, data_cases, group_cases, close_cases, death_cases})
      for (const Case& c : group()) cases.push_back(c);
    return cases;
  }();
  return all;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const Case& c : all_cases()) names.push_back(c.name);
  return names;
}

const Case* find_case(const std::string& name) {
  for (const Case& c : all_cases())
    if (name == c.name) return &c;
  return nullptr;
}

Json run_case(Rank& rank) {
  const std::string name = rank.job().at("case");
  rank.open();
  rank.stage("in its first steps");
  const std::string not_applicable = find_case(name)->run(rank);
  rank.close();
  return {{"not_applicable", not_applicable}};
}

int run_conformance(const Options& o, tools::ReportFile* json) {
  FILE* const out = o.json == "-" ? stderr : stdout;
  int failed = 0, passed = 0, skipped = 0;
  bool cannot_run = false;
  Json report = Json::array();
  for (int abi : o.abis) {
    const std::string label = abi == 0 ? "newest" : "v" + std::to_string(abi);
    fprintf(out, "# conformance of %s, ABI %s\n", o.plugin.c_str(), label.c_str());
    for (const Case& c : all_cases()) {
      if (!o.only.empty() && std::find(o.only.begin(), o.only.end(), c.name) == o.only.end()) continue;
      const Json job{
          {"library", o.plugin}, {"abi", abi},         {"case", c.name},       {"ranks", c.ranks},
          {"doomed", c.doomed},  {"device", o.device}, {"limit_s", o.limit_s}, {"death_limit_s", o.death_limit_s}};
      const Outcome outcome = run_world(job, o.environment, std::chrono::duration<double>(o.limit_s));
      std::string why = outcome.error, verdict = why.empty() ? "ok" : "FAILED";
      for (const Json& r : outcome.results)
        if (why.empty() && r.is_object() && !r.at("not_applicable").get<std::string>().empty())
          why = r.at("not_applicable"), verdict = "n/a";
      fprintf(out, "%-7s %-28s %s\n", verdict.c_str(), c.name, verdict == "ok" ? c.rule : why.c_str());
      if (verdict == "FAILED") fprintf(out, "        the rule: %s\n", c.rule);
      fflush(out);
      ++(verdict == "ok" ? passed : verdict == "n/a" ? skipped : failed);
      report.push_back({{"abi", label}, {"case", c.name}, {"verdict", verdict}, {"detail", why}});
      if (outcome.cannot_run) {
        fprintf(stderr, "nccl-net-bench: %s: %s\n", o.plugin.c_str(), why.c_str());
        cannot_run = true;
        break;
      }
    }
  }
  fprintf(out, "# %d passed, %d failed, %d not applicable\n", passed, failed, skipped);
  const int code = cannot_run ? 2 : failed > 0 ? 1 : 0;
  write_json(o, {{"kind", "conformance"}, {"plugin", o.plugin}, {"exit_code", code}, {"cases", report}}, json);
  return code;
}

}  // namespace mrc::net_bench
