// mrc-sim: simulates jobs on a multiplane fabric. Subcommands in their order of use; each prints its errors
// with file and line, and exits with 2 for bad input, 1 when a check fails.
#include <absl/strings/str_split.h>

#include <cstdio>
#include <thread>
#include <utility>

#include "command_line.h"
#include "launch.h"
#include "sim/fabric/plan.h"
#include "sim/helper/report.h"

namespace mrc::sim {
namespace {

using Overrides = std::vector<Override>;

// KEY=VALUE; a value may contain '='.
std::pair<std::string, std::string> key_and_value(const std::string& option, const std::string& text,
                                                  const std::string& allowed) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.first.empty() || parts.first == text) throw ConfigError(option + " " + text + ": allowed: " + allowed);
  return parts;
}

Where parse_only(const std::vector<std::string>& texts) {
  Where only;
  for (const std::string& t : texts) only.push_back(key_and_value("--only", t, "KEY=VALUE of sweep"));
  return only;
}

Overrides parse_overrides(const std::vector<std::string>& texts) {
  Overrides all;
  for (const std::string& t : texts) {
    auto [key, value] = key_and_value("--set", t, "path.to.key=value");
    all.push_back({std::move(key), std::move(value), "--set " + t});
  }
  return all;
}

// The plan of a fabric, walked: every path of small fabrics, every EV of sampled pairs of large ones.
int check_fabric(const std::string& name, uint32_t pairs) {
  const FabricPlan plan(load_fabric(name));
  const FabricSpec& f = plan.spec();
  std::printf("%s: %u planes, %u T0 and %u T1 per plane, %u NICs, line rate %s, base RTT %s, plane BDP %s\n",
              f.name.c_str(), f.planes, f.t0, f.t1, f.nics(), format_rate(f.line_rate()).c_str(),
              format_time(f.base_rtt()).c_str(), format_bytes(f.plane_bdp()).c_str());
  std::printf("example: plane 0, NIC 0 %s to NIC %u %s by %s\n", plan.nic_address(0, 0).to_string().c_str(),
              f.nics() - 1, plan.nic_address(0, f.nics() - 1).to_string().c_str(),
              plan.path(0, 0, 0, f.nics() - 1).to_string().c_str());
  Rng rng(1);
  uint64_t walked = 0;
  for (uint32_t i = 0; i < pairs; ++i) {
    const uint32_t a = rng.below(f.nics()), b = rng.below(f.nics());
    if (a == b) continue;
    for (const Ev& ev : plan.evs(a, 1)) {
      const std::string problem = plan.walk(ev.plane, a, plan.t1_of(ev.value), b);
      ++walked;
      if (problem.empty()) continue;
      std::fprintf(stderr, "NIC %u to NIC %u: %s\n", a, b, problem.c_str());
      return 1;
    }
  }
  std::printf("%llu paths of %u sampled pairs walked, all arrive\n", static_cast<unsigned long long>(walked), pairs);
  return 0;
}

int check_scenario(const std::string& path, const Overrides& overrides, const Where& only) {
  const ScenarioFile file = load_scenario_file(path, overrides, only);
  check_metrics(file);
  for (size_t i = 0; i < file.points.size(); ++i) {
    const ScenarioSpec& s = file.points[i].spec;
    std::printf("%3zu  %s: %s, %s, %s, limit %s\n", i, file.points[i].label().c_str(),
                plural(s.fabric.nics(), "NIC", "NICs").c_str(),
                plural(build_graph(s).ops.size(), "message", "messages").c_str(),
                plural(s.faults.size(), "fault", "faults").c_str(), format_time(s.limit).c_str());
  }
  std::printf("%s, %s\n", plural(file.points.size(), "point", "points").c_str(),
              plural(file.checks.size(), "check", "checks").c_str());
  return 0;
}

int list(const std::string& fabric) {
  for (const Builtin& b : builtin_fabrics()) {
    if (fabric.empty()) std::printf("%-18s %s\n", b.name, b.sentence);
    if (fabric == b.name) std::printf("%s", b.yaml);
  }
  if (!fabric.empty()) load_fabric(fabric);  // lists the allowed names on an error
  return 0;
}

int compare(const std::string& a, const std::string& b, const std::string& html) {
  const auto pa = read_points(a), pb = read_points(b);
  if (!html.empty()) write_file(html, compare_table(pa, pb, true));
  std::printf("%s", compare_table(pa, pb, false).c_str());
  return 0;
}

int report(const std::string& folder) {
  const ScenarioFile file = load_scenario_file(folder + "/scenario.yaml");
  Output output(folder);
  const auto checks = output.gather(file);
  if (!checks) throw ConfigError(folder + ": not every point has been run with its present scenario.yaml");
  std::printf("%s/report.html\n", folder.c_str());
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app{"Simulates MRC on a multiplane two-tier fabric: the production engine on ns-3."};
  app.require_subcommand(1);
  std::string path, second, html, fabric;
  std::vector<std::string> sets, only_texts;
  LaunchOptions o;
  o.jobs = std::max(1u, std::thread::hardware_concurrency());
  uint32_t pairs = 200;
  std::string seed;

  const auto run_options = [&](CLI::App* c) {
    c->add_option("scenario", path, "scenario file (YAML)")->required();
    c->add_option("-o,--out", o.out, "output directory; default: the scenario's name with .out");
    c->add_option("-j,--jobs", o.jobs, "points at a time")->check(CLI::Range(1, 1024));
    c->add_option("-s,--set", sets, "path.to.key=value, for every point; may be repeated");
    c->add_option("--only", only_texts, "KEY=VALUE: of this key of sweep only that value; may be repeated");
    c->add_option("--seed", seed, "another seed");
    c->add_flag("-q,--quiet", o.quiet, "print failed checks only");
    c->add_flag("--trace", o.trace, "engine events of every NIC into trace/, for mrclog");
    c->add_flag("--perf", o.perf, "print packets per second and peak memory");
  };
  CLI::App* run_command = app.add_subcommand("run", "run a scenario, all its points, and its checks");
  run_options(run_command);
  CLI::App* sweep = app.add_subcommand("sweep", "the same, shared by the processes of mpirun or a Slurm array");
  run_options(sweep);
  sweep->add_option("--launcher", o.launcher, "launcher of this process")
      ->check(CLI::IsMember({"local", "mpi", "slurm"}));
  CLI::App* check = app.add_subcommand("check", "read a scenario or fabric and say what it means, without running it");
  check->add_option("scenario", path, "scenario file");
  check->add_option("--fabric", fabric, "fabric file or built-in name: its plan is walked");
  check->add_option("--pairs", pairs, "pairs of NICs to walk");
  check->add_option("-s,--set", sets, "path.to.key=value");
  check->add_option("--only", only_texts, "KEY=VALUE: of this key of sweep only that value");
  CLI::App* list_command = app.add_subcommand("list", "built-in fabrics");
  list_command->add_option("--fabric", fabric, "print this one as a file");
  CLI::App* report_command = app.add_subcommand("report", "make the summary and report of an output directory again");
  report_command->add_option("directory", path)->required();
  CLI::App* compare_command = app.add_subcommand("compare", "two output directories side by side");
  compare_command->add_option("a", path)->required();
  compare_command->add_option("b", second)->required();
  compare_command->add_option("--html", html, "also as an HTML table");
  if (const auto status = support::parse_command_line(&app, "mrc-sim", argc, argv)) return *status;

  if (list_command->parsed()) return list(fabric);
  if (report_command->parsed()) return report(path);
  if (compare_command->parsed()) return compare(path, second, html);
  Overrides overrides = parse_overrides(sets);
  const Where only = parse_only(only_texts);
  if (check->parsed()) {
    if (!fabric.empty()) return check_fabric(fabric, pairs);
    if (path.empty()) throw ConfigError("check needs a scenario file or --fabric");
    return check_scenario(path, overrides, only);
  }
  if (!seed.empty()) overrides.push_back({"seed", seed, "--seed " + seed});
  const ScenarioFile file = load_scenario_file(path, overrides, only);
  check_metrics(file);
  if (o.out.empty()) {
    const size_t slash = path.rfind('/'), dot = path.rfind('.');
    const size_t from = slash == std::string::npos ? 0 : slash + 1;
    o.out = path.substr(from, dot != std::string::npos && dot > from ? dot - from : std::string::npos) + ".out";
  }
  return launch(file, o);
}

}  // namespace
}  // namespace mrc::sim

int main(int argc, char** argv) {
  try {
    return mrc::sim::run(argc, argv);
  } catch (const mrc::sim::ConfigError& e) {
    std::fprintf(stderr, "mrc-sim: %s\n", e.what());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrc-sim: %s\n", e.what());
  }
  return 2;
}
