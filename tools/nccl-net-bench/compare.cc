#include "compare.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace mrc::net_bench {

FILE* table(const Options& o) {
  return o.json == "-" ? stderr : stdout;
}

Json job_of(const Options& o, const std::string& library, int abi, const std::string& test) {
  return {{"library", library},         {"abi", abi},         {"test", test},
          {"ranks", o.ranks},           {"device", o.device}, {"sizes", o.sizes},
          {"slice", o.slice},           {"depth", o.depth},   {"iterations", o.iterations},
          {"duration_s", o.duration_s}, {"check", o.check},   {"warm_up", o.warm_up},
          {"limit_s", o.limit_s}};
}

void print_head(FILE* out, const Options& o, const std::string& test, const Json& about) {
  fprintf(out, "# %s: plugin %s, ABI v%d, device %s (%d Mb/s), %d ranks, slices of %zu bytes, %zu in flight\n",
          test.c_str(), about.at("plugin").get<std::string>().c_str(), about.at("abi").get<int>(),
          about.at("device").get<std::string>().c_str(), about.at("speed_Mbps").get<int>(), o.ranks, o.slice, o.depth);
  fprintf(out, "#%12s %12s %10s %10s %10s %12s %8s\n", "size", "count", "time", "algbw", "busbw", "CPU", "#wrong");
  fprintf(out, "#%12s %12s %10s %10s %10s %12s %8s\n", "(B)", "(elements)", "(us)", "(GB/s)", "(GB/s)", "(s/GB)", "");
}

void print_line(FILE* out, const Json& r, const std::string& test) {
  const double bytes = r.at("bytes").get<double>();
  const std::string wrong = r.at("checked").get<bool>() ? std::to_string(r.at("wrong").get<uint64_t>()) : "N/A";
  fprintf(out, " %12.0f %12.0f %10.1f %10.3f %10.3f %12.3f %8s\n", bytes, bytes / (test == "all-reduce" ? 4 : 1),
          r.at("seconds").get<double>() * 1e6, r.at("algbw_GBps").get<double>(), r.at("busbw_GBps").get<double>(),
          bytes > 0 ? r.at("cpu_seconds").get<double>() / bytes * 1e9 : 0, wrong.c_str());
  fflush(out);
}

namespace {

struct Measured {
  Json report = Json::object();
  std::vector<Json> lines;
  bool good = true;
  bool cannot_run = false;
};

Measured measure(const Options& o, const std::string& library, const Environment& environment, int abi,
                 const std::string& test) {
  Measured m;
  FILE* const out = table(o);
  const Outcome outcome = run_world(job_of(o, library, abi, test), environment,
                                    std::chrono::duration<double>(o.limit_s), [&](size_t, const Json& data) {
                                      if (data.contains("plugin"))
                                        return m.report = data, print_head(out, o, test, data);
                                      m.lines.push_back(data);
                                      print_line(out, data, test);
                                    });
  m.report["test"] = test;
  m.report["library"] = library;
  m.report["ranks"] = o.ranks;
  m.report["results"] = m.lines;
  for (const Json& line : m.lines)
    if (line.at("wrong").get<uint64_t>() != 0) m.good = false;
  if (!m.good) fprintf(stderr, "nccl-net-bench: %s: wrong data\n", library.c_str());
  if (!outcome.error.empty()) {
    m.good = false;
    m.cannot_run = outcome.cannot_run;
    m.report["error"] = outcome.error;
    fprintf(stderr, "nccl-net-bench: %s: %s\n", library.c_str(), outcome.error.c_str());
  }
  return m;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n == 0 ? 0 : n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// The two by turns, each round in fresh processes, so that neither has the machine's quiet minutes for itself.
int compare(const Options& o, const std::string& test, Json* report) {
  FILE* const out = table(o);
  std::vector<std::vector<double>> first(o.sizes.size()), second(o.sizes.size());
  for (int round = 0; round < o.rounds; ++round) {
    fprintf(out, "# round %d of %d\n", round + 1, o.rounds);
    const Measured a = measure(o, o.plugin, o.environment, o.abis.front(), test);
    if (!a.good) return a.cannot_run ? 2 : 1;
    const Measured b = measure(o, o.against, o.against_environment, o.abis.front(), test);
    if (!b.good) return b.cannot_run ? 2 : 1;
    for (size_t i = 0; i < o.sizes.size(); ++i) {
      first[i].push_back(a.lines[i].at("busbw_GBps"));
      second[i].push_back(b.lines[i].at("busbw_GBps"));
    }
  }
  int code = 0;
  fprintf(out, "# %s, medians of %d rounds\n#%12s %12s %12s %8s %14s\n", test.c_str(), o.rounds, "size (B)",
          "first GB/s", "second GB/s", "ratio", "range");
  for (size_t i = 0; i < o.sizes.size(); ++i) {
    const double a = median(first[i]), b = median(second[i]), ratio = b > 0 ? a / b : 0;
    std::vector<double> each;
    for (size_t k = 0; k < first[i].size(); ++k) each.push_back(second[i][k] > 0 ? first[i][k] / second[i][k] : 0);
    const auto [low, high] = std::minmax_element(each.begin(), each.end());
    const bool low_ratio = ratio < o.min_ratio;
    fprintf(out, " %12zu %12.3f %12.3f %8.3f %6.3f..%-6.3f %s\n", o.sizes[i], a, b, ratio, *low, *high,
            low_ratio ? "BELOW --min-ratio" : "");
    report->push_back({{"test", test},
                       {"bytes", o.sizes[i]},
                       {"first_busbw_GBps", first[i]},
                       {"second_busbw_GBps", second[i]},
                       {"ratio_of_medians", ratio}});
    if (low_ratio) code = 1;
  }
  return code;
}

}  // namespace

void write_json(const Options& o, const Json& report, tools::ReportFile* json) {
  if (!json->write(report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"))
    throw Fail("cannot write " + o.json + ": " + strerror(errno));
}

int run_measurements(const Options& o, tools::ReportFile* json) {
  int code = 0;
  Json report = Json::array();
  for (const std::string& test : o.tests) {
    if (!o.against.empty()) {
      code = std::max(code, compare(o, test, &report));
      continue;
    }
    for (int abi : o.abis) {
      const Measured m = measure(o, o.plugin, o.environment, abi, test);
      report.push_back(m.report);
      if (!m.good) code = std::max(code, m.cannot_run ? 2 : 1);
    }
  }
  const char* const kind = o.against.empty() ? "measurements" : "comparison";
  write_json(o, {{"kind", kind}, {"plugin", o.plugin}, {"against", o.against}, {"exit_code", code}, {"runs", report}},
             json);
  return code;
}

}  // namespace mrc::net_bench
