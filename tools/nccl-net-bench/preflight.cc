#include "preflight.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>

#include "append_item.h"
#include "compare.h"
#include "host_judge.h"
#include "shell.h"
#include "shell_word.h"

namespace mrc::net_bench {

namespace {

constexpr int kNotFound = 127;  // of a shell that finds no program

struct Collected {
  std::vector<Json> facts;
  std::vector<PairSpeed> pairs, again;
  Json raw_pairs = Json::array(), lines = Json::array();
};

PairSpeed pair_from(const Json& p) {
  return {p.at("a"),           p.at("b"),
          p.at("a_to_b_Gbps"), p.at("b_to_a_Gbps"),
          p.at("rtt_us"),      p.at("clock_ahead_us"),
          p.at("error"),       p.value("tried", true)};
}

// Texts by name.
bool are_texts(const Json& facts, const char* group) {
  return facts.contains(group) && facts[group].is_object() &&
         std::all_of(facts[group].begin(), facts[group].end(), [](const Json& fact) { return fact.is_string(); });
}

// Anything but what rank 0 measures of pairs that exist is dropped.
void add_pair(size_t rank, const Options& o, const Json& p, std::vector<PairSpeed>* to) {
  const PairSpeed pair = pair_from(p);
  if (rank == 0 && 0 <= pair.a && pair.a < pair.b && pair.b < o.ranks) to->push_back(pair);
}

void collect(FILE* out, const Options& o, size_t rank, const Json& data, Collected* to) {
  if (data.contains("facts")) {
    const Json& facts = data.at("facts");
    if (are_texts(facts, "compare") && are_texts(facts, "addresses")) to->facts.at(rank) = facts;
  } else if (data.contains("pair")) {
    add_pair(rank, o, data.at("pair"), &to->pairs);
    to->raw_pairs.push_back(data.at("pair"));
  } else if (data.contains("again")) {
    add_pair(rank, o, data.at("again"), &to->again);
  } else if (data.contains("plugin")) {
    print_head(out, o, o.tests.front(), data);
  } else {
    to->lines.push_back(data);
    print_line(out, data, o.tests.front());
  }
}

void print_facts(FILE* out, const Options& o, const Collected& c) {
  if (c.facts.front().is_null()) return;
  fprintf(out, "# facts of %s\n", o.environment.hosts.front().c_str());
  for (const auto& fact : c.facts.front().at("compare").items())
    fprintf(out, "#   %s: %s\n", fact.key().c_str(), fact.value().get<std::string>().c_str());
  fprintf(out, "# addresses\n");
  for (size_t h = 0; h < c.facts.size(); ++h) {
    std::string text;
    if (!c.facts[h].is_object()) continue;
    for (const auto& address : c.facts[h].at("addresses").items())
      append_item(&text, address.key() + " " + address.value().get<std::string>());
    fprintf(out, "#   %s: %s\n", o.environment.hosts[h].c_str(), text.c_str());
  }
}

Json print_hosts(FILE* out, const Options& o, const Collected& c) {
  Json hosts = Json::array();
  const std::vector<HostSpeed> speeds = host_speeds(c.pairs, o.ranks);
  fprintf(out, "# each host with the others: median\n#%19s %12s %12s %12s %14s %7s\n", "host", "sends", "receives",
          "round trip", "clock ahead of", "failed");
  fprintf(out, "#%19s %12s %12s %12s %14s %7s\n", "", "(Gb/s)", "(Gb/s)", "(us)", "the first (us)", "pairs");
  for (size_t h = 0; h < speeds.size(); ++h) {
    const HostSpeed& s = speeds[h];
    double ahead = 0;
    for (const PairSpeed& p : c.pairs)
      if (p.a == 0 && p.b == static_cast<int>(h)) ahead = p.clock_ahead_us;
    const std::string& name = o.environment.hosts[h];
    fprintf(out, " %19s %12.3f %12.3f %12.1f %14.0f %7d\n", name.c_str(), s.sends, s.receives, s.rtt_us, ahead,
            s.failed);
    hosts.push_back({{"host", name},
                     {"sends_Gbps", s.sends},
                     {"receives_Gbps", s.receives},
                     {"rtt_us", s.rtt_us},
                     {"clock_ahead_us", ahead},
                     {"failed_pairs", s.failed},
                     {"facts", c.facts[h]}});
  }
  return hosts;
}

// Every path of every plane, by mrcctl preflight, which names links and switches.
std::vector<Finding> probe_paths(FILE* out, const Options& o) {
  std::string launch;
  for (const std::string& word : o.environment.launch) append_item(&launch, word, " ");
  std::string command = tools::shell_quoted(o.path_prober) + " --json preflight --run " + tools::shell_quoted(launch) +
                        " --program " + tools::shell_quoted(o.path_prober);
  for (const std::string& host : o.environment.hosts) command += " " + tools::shell_quoted(host);
  int status = 0;
  const Json seen = Json::parse(output_of(command, &status), nullptr, false);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotFound)
    return {{"path", "the paths could not be probed: " + o.path_prober +
                         " cannot be run here (--path-prober names another one, '' leaves these probes out)"}};
  if (!WIFEXITED(status) || !seen.is_object() || !seen.contains("faults"))
    return {{"path", "the paths could not be probed (--path-prober '' leaves it out) by " + command}};
  fprintf(out, "# %d paths probed, %d bad\n", seen.value("paths", 0), seen.value("bad", 0));
  std::vector<Finding> found;
  for (const Json& fault : seen.at("faults")) found.push_back({"path", fault.at("text")});
  if (found.empty() && !seen.value("good", true))
    found.push_back({"path", std::to_string(seen.value("bad", 0)) + " paths are bad without a common link"});
  return found;
}

// A host that ends before it has reported its facts cannot be reached, or cannot run this program.
Finding of_run(const Collected& c, const Outcome& outcome) {
  const size_t died = static_cast<size_t>(outcome.died);
  if (outcome.died < 0 || !c.facts[died].is_null()) return {"run", outcome.error};
  return {"unreachable host", outcome.error.substr(sizeof "host " - 1)};
}

bool runs_mrc(const Collected& c) {
  const Json& first = c.facts.front();
  return !first.is_null() && first.at("compare").value("plugin", std::string()) == "MRC";
}

int exit_code(const std::vector<Finding>& found) {
  const bool bad = std::any_of(found.begin(), found.end(), [](const Finding& f) {
    return f.kind != "fact" && f.kind != "clock" && f.kind != kSlowUnderLoad;
  });
  return bad ? 1 : found.empty() ? 0 : 3;
}

}  // namespace

int run_preflight(const Options& o, tools::ReportFile* json) {
  FILE* const out = table(o);
  const Clock::time_point start = Clock::now();
  Collected c;
  c.facts.resize(o.environment.hosts.size());
  Json job = job_of(o, o.plugin, o.abis.front(), o.tests.front());
  job["preflight"] = true;
  const Outcome outcome = run_world(job, o.environment, std::chrono::duration<double>(o.limit_s),
                                    [&](size_t rank, const Json& data) { collect(out, o, rank, data, &c); });
  print_facts(out, o, c);
  const Json hosts = print_hosts(out, o, c);
  std::vector<Finding> found = judge_facts(o.environment.hosts, c.facts);
  for (Finding& f : judge_pairs(o.environment.hosts, c.pairs, c.again)) found.push_back(std::move(f));
  if (!outcome.error.empty()) found.push_back(of_run(c, outcome));
  for (const Json& line : c.lines)
    if (line.at("wrong").get<uint64_t>() != 0) found.push_back({"data", o.tests.front() + " gave wrong data"});
  if (runs_mrc(c) && !o.path_prober.empty())
    for (Finding& f : probe_paths(out, o)) found.push_back(std::move(f));
  Json findings = Json::array();
  for (const Finding& f : found) {
    fprintf(out, "%s: %s\n", f.kind.c_str(), f.text.c_str());
    findings.push_back({{"kind", f.kind}, {"text", f.text}});
  }
  const int code = outcome.cannot_run ? 2 : exit_code(found);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  fprintf(out, "# after %.0f s: %s\n", seconds,
          code == 0   ? "all hosts and paths are well"
          : code == 3 ? "nothing is bad, hosts differ"
                      : "not fit for a job");
  write_json(o,
             {{"kind", "preflight"},
              {"exit_code", code},
              {"seconds", seconds},
              {"hosts", hosts},
              {"pairs", c.raw_pairs},
              {"runs", c.lines},
              {"findings", findings}},
             json);
  return code;
}

}  // namespace mrc::net_bench
