#include "options.h"

#include <absl/strings/str_split.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cases.h"
#include "collectives.h"
#include "command_line.h"
#include "net.h"

namespace mrc::net_bench {

namespace {

constexpr const char* kAbout =
    "Drives a network plugin of NCCL or RCCL as NCCL's proxy threads do, over host memory, without a GPU: opens any\n"
    "library that exports ncclNetPlugin_vN (--abi), runs collectives between processes of this machine, checks every\n"
    "element of the result, and prints bandwidth as nccl-tests does. With --conformance it tests the plugin instead.\n";

constexpr const char* kExamples =
    "\nExamples:\n"
    "  nccl-net-bench mrc                                  what NCCL_NET_PLUGIN=mrc would load, ring all-reduce\n"
    "  nccl-net-bench ./libnccl-net-x.so --test all -r 4 -s 64K,1M,64M\n"
    "  nccl-net-bench mrc --against ./libnccl-net-x.so -r 4 -s 64M --min-ratio 1.2\n"
    "                                                      two plugins by turns; the ratio of the medians decides\n"
    "  nccl-net-bench mrc --conformance --abi all          every rule of the interface, at every ABI version\n"
    "  nccl-net-bench mrc --conformance --only peer-killed-sending\n"
    "  nccl-net-bench ./libvendor-net.so --preload ./libmrc-verbs.so --env NCCL_IB_HCA=mrc0\n"
    "  nccl-net-bench mrc -r 2 --launch 'mrc-fabric exec h{rank} --'    rank r on host r of the lab\n"
    "  nccl-net-bench mrc --hosts n1,n2,n3 --launch 'ssh {host}'        before a job: the slow host and the bad path\n"
    "  MRC_FAULT='plane=1:blackhole@1s-' nccl-net-bench mrc -r 4 -s 16M -n 5 -D 4    a plane dies in mid-collective\n"
    "\nReading the table: algbw is bytes divided by time; busbw corrects for the pattern, so that it compares with "
    "the\n"
    "speed of a link whatever the number of ranks: x 2(n-1)/n for all-reduce, x (n-1)/n for all-gather and "
    "all-to-all,\n"
    "x 1 for p2p and send-recv. GB are 10^9 bytes. The time is that of the slowest rank; CPU adds all ranks.\n"
    "#wrong counts elements that are not what they must be.\n"
    "\n--hosts: the facts of each host and how they differ; every pair of hosts, many at a time, both ways; with MRC every\n"
    "path of every plane (mrcctl preflight); the collective of --test over all hosts. Slow hosts, slow pairs and broken\n"
    "links are named.\n"
    "\nExit code 0: all well. 1: wrong data, an error, a failed case, a ratio below --min-ratio, with --hosts a host, pair\n"
    "or path that is bad. 2: bad command line, or the plugin cannot be used at all. 3: with --hosts nothing is bad, but\n"
    "hosts differ in facts or clocks, or one is slow only while others send. NCCL_DEBUG=WARN or INFO shows what the\n"
    "plugin logs, filtered by NCCL_DEBUG_SUBSYS as in NCCL.\n";

// As NCCL resolves NCCL_NET_PLUGIN: a path as it is, a name as libnccl-net-NAME.so.
std::string library_of(const std::string& name) {
  const bool is_file = name.find('/') != std::string::npos || name.ends_with(".so");
  if (!is_file) return "libnccl-net-" + name + ".so";
  if (name.find('/') == std::string::npos && access(name.c_str(), R_OK) == 0) return "./" + name;
  return name;
}

constexpr double kMaxBytes = 1e15;  // more than any machine has

size_t parse_size(const std::string& text) {
  char* end = nullptr;
  const double value = strtod(text.c_str(), &end);
  std::string unit = end;
  if (unit.ends_with("iB")) unit.resize(unit.size() - 2);
  const size_t factor = unit.empty() ? 1 : unit == "K" ? 1 << 10 : unit == "M" ? 1 << 20 : unit == "G" ? 1 << 30 : 0;
  const double bytes = value * static_cast<double>(factor);
  if (end == text.c_str() || factor == 0 || !(bytes == 0 || (bytes >= 1 && bytes <= kMaxBytes)))
    throw CannotRun("'" + text + "' is no size: 0, 64K, 1M, 64MiB (powers of 1024)");
  return static_cast<size_t>(bytes);
}

// "64K,1M" or "64K-64M", by fours.
std::vector<size_t> parse_sizes(const std::string& text) {
  const std::vector<std::string> items = absl::StrSplit(text, ',');
  std::vector<size_t> sizes;
  for (const std::string& item : items) {
    const size_t dash = item.find('-');
    if (dash == std::string::npos) {
      sizes.push_back(parse_size(item));
      continue;
    }
    const size_t from = parse_size(item.substr(0, dash)), to = parse_size(item.substr(dash + 1));
    if (from == 0 || from > to) throw CannotRun("'" + item + "' is no range of sizes");
    for (size_t s = from; s < to; s *= 4) sizes.push_back(s);
    sizes.push_back(to);
  }
  return sizes;
}

void parse_environment(const std::vector<std::string>& from, Environment* to) {
  for (const std::string& item : from) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) throw CannotRun("'" + item + "' is not NAME=VALUE");
    to->set.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
}

std::vector<int> parse_abis(const std::string& text) {
  std::vector<int> all(std::begin(nccl_net::kVersions), std::end(nccl_net::kVersions));
  if (text == "newest") return {0};
  if (text == "all") return all;
  const std::vector<std::string> items = absl::StrSplit(text, ',');
  std::vector<int> abis;
  for (const std::string& item : items) {
    const int v = atoi(item.c_str() + (item[0] == 'v' ? 1 : 0));
    if (std::find(all.begin(), all.end(), v) == all.end())
      throw CannotRun("'" + item + "' is no ABI version: " + nccl_net::version_range() + ", all, or newest");
    abis.push_back(v);
  }
  return abis;
}

template <typename Known>
void check_names(const std::vector<std::string>& given, const Known& known, const char* what) {
  for (const std::string& name : given)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string list;
      for (const std::string& k : known) list += " " + k;
      throw CannotRun("'" + name + "' is no " + what + "; there are:" + list);
    }
}

// An indivisible size would be rounded down to zero, and measured as such.
void check_sizes(const Options& o) {
  for (const std::string& test : o.tests)
    for (size_t size : o.sizes)
      if (const size_t min = Collective::unit(test, o.ranks); size != 0 && size < min)
        throw CannotRun(test + " of " + std::to_string(o.ranks) + " ranks cannot divide " + std::to_string(size) +
                        " bytes: give 0, or at least " + std::to_string(min));
}

// Options as they are typed; read after all of them are there.
struct Texts {
  std::string sizes = "64K,1M,16M,64M", abi = "newest";
  std::vector<std::string> set, against_set;
  std::string launch;
  bool list = false, no_check = false;
};

void add_run_options(CLI::App& app, Options& o, Texts& texts) {
  app.add_option("PLUGIN", o.plugin, "Library file, or the name that NCCL_NET_PLUGIN would have");
  app.add_option("-t,--test", o.tests, "p2p, all-reduce, all-gather, all-to-all, send-recv (comma-separated), or all")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("-r,--ranks", o.ranks, "Processes")->check(support::in_range(1, 64))->capture_default_str();
  app.add_option("-s,--sizes", texts.sizes, "Sizes (64K,1M) or a sweep by fours (64K-64M)")->capture_default_str();
  app.add_option("-n,--iterations", o.iterations, "Timed runs of each size")
      ->check(support::in_range(1, 1000000))
      ->capture_default_str();
  app.add_option("-D,--duration", o.duration_s,
                 "Seconds for each size, in batches of --iterations that are checked one by one; an interrupt (Ctrl-C) "
                 "makes the batch under way the last")
      ->check(support::in_range(0.0, 86400.0));
  app.add_option("-w,--warm-up", o.warm_up, "Runs before them")
      ->check(support::in_range(0, 1000000))
      ->capture_default_str();
  app.add_option("--abi", texts.abi,
                 "Version of the interface: " + nccl_net::version_range() + ", a list, all, or newest")
      ->capture_default_str();
  app.add_option("-d,--device", o.device, "Number of the plugin's device")
      ->check(support::in_range(0, 1024))
      ->capture_default_str();
  app.add_option("--slice", o.slice, "Bytes of one message; larger buffers are cut (NCCL's Simple protocol: 512K)")
      ->transform(CLI::AsSizeValue(false))
      ->check(support::in_range(size_t{4}, size_t{1} << 30))
      ->capture_default_str();
  app.add_option("--depth", o.depth, "Messages in flight on a connection (NCCL's steps: 8)")
      ->check(support::in_range(1, NCCL_NET_MAX_REQUESTS))
      ->capture_default_str();
  app.add_flag("--no-check", texts.no_check, "Do not compare results");
}

void add_comparison_options(CLI::App& app, Options& o, Texts& texts) {
  auto* against = app.add_option("--against", o.against, "A second plugin, driven by turns with the first for a ratio");
  app.add_option("--rounds", o.rounds, "With --against: runs of each")
      ->needs(against)
      ->check(support::in_range(1, 1000))
      ->capture_default_str();
  app.add_option("--min-ratio", o.min_ratio, "With --against: fail when a bus bandwidth ratio is below this")
      ->needs(against);
  app.add_option("--preload", o.environment.preload,
                 "LD_PRELOAD of the first plugin's processes, for example a verbs shim");
  app.add_option("--against-preload", o.against_environment.preload, "The same for the second")->needs(against);
  app.add_option("--launch", texts.launch,
                 "Words that start a process elsewhere on this machine, with {rank}: \"mrc-fabric exec h{rank} --\"");
  app.add_option("--env", texts.set, "NAME=VALUE for the first plugin's processes; may be repeated");
  app.add_option("--against-env", texts.against_set, "The same for the second")->needs(against);
}

void add_preflight_options(CLI::App& app, Options& o) {
  auto* hosts = app.add_option("--hosts", o.environment.hosts,
                               "Check these hosts before a job (comma-separated), one rank on each; --launch starts a "
                               "program there: \"ssh {host}\", \"kubectl exec -i {host} --\"")
                    ->delimiter(',');
  app.add_option("--program", o.environment.program,
                 "With --hosts: path of nccl-net-bench there, else the same as here")
      ->needs(hosts);
  app.add_option("--path-prober", o.path_prober,
                 "With --hosts: mrcctl, here and there, which probes each path of plugin MRC; empty: no such probes")
      ->needs(hosts)
      ->capture_default_str();
}

void check_hosts(const Texts& texts, const Options& o) {
  const std::vector<std::string>& hosts = o.environment.hosts;
  if (hosts.size() < 2 || hosts.size() > 1024) throw CannotRun("--hosts needs 2 to 1024 of them");
  for (const std::string& host : hosts)
    if (host.empty() || std::count(hosts.begin(), hosts.end(), host) > 1)
      throw CannotRun("--hosts: '" + host + "' is empty or there twice");
  if (texts.launch.find("{host}") == std::string::npos)
    throw CannotRun("--hosts needs --launch with {host}, such as 'ssh {host}'");
  if (o.conformance || !o.against.empty() || !o.environment.preload.empty() || o.abis.size() > 1 || o.tests.size() > 1)
    throw CannotRun("--hosts goes with one --test and one ABI, without --conformance, --against and --preload");
}

void add_conformance_options(CLI::App& app, Options& o, Texts& texts) {
  auto* conformance =
      app.add_flag("--conformance", o.conformance, "Test the plugin against the rules of the interface");
  app.add_option("--only", o.only, "With --conformance: these cases (comma-separated)")
      ->delimiter(',')
      ->needs(conformance);
  app.add_flag("--list", texts.list, "List the conformance cases");
  app.add_option("--death-limit", o.death_limit_s, "Seconds within which requests must fail after a peer's death")
      ->check(support::in_range(0.1, 3600.0))
      ->capture_default_str();
}

void finish_options(const Texts& texts, Options& o) {
  o.plugin = library_of(o.plugin);
  if (!o.against.empty()) o.against = library_of(o.against);
  o.sizes = parse_sizes(texts.sizes);
  o.abis = parse_abis(texts.abi);
  o.check = !texts.no_check;
  parse_environment(texts.set, &o.environment);
  parse_environment(texts.against_set, &o.against_environment);
  o.environment.launch = absl::StrSplit(texts.launch, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  o.against_environment.launch = o.environment.launch;
  if (o.tests == std::vector<std::string>{"all"}) o.tests = Collective::names();
  check_names(o.tests, Collective::names(), "test");
  if (!o.environment.hosts.empty()) {
    check_hosts(texts, o);
    o.ranks = static_cast<int>(o.environment.hosts.size());
  }
  check_names(o.only, case_names(), "conformance case");
  if (!o.conformance) check_sizes(o);
  if (!o.conformance && o.ranks < 2) throw CannotRun("a collective needs at least 2 ranks");
  if (o.duration_s >= o.limit_s) throw CannotRun("--duration has to be shorter than --timeout");
  if (!o.against.empty() && (o.conformance || o.abis.size() > 1))
    throw CannotRun("--against goes with one ABI version and without --conformance");
  o.slice &= ~size_t{3};  // whole floats
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  Texts texts;
  CLI::App app{kAbout};
  app.footer(kExamples);
  o.tests = {"all-reduce"};
  add_run_options(app, o, texts);
  add_comparison_options(app, o, texts);
  add_conformance_options(app, o, texts);
  add_preflight_options(app, o);
  app.add_option("--timeout", o.limit_s, "Seconds after which a run, or one conformance case, is ended")
      ->check(support::in_range(1.0, 86400.0))
      ->capture_default_str();
  app.add_option("--json", o.json, "Write the report as JSON to this file, or - for standard output");
  if (const auto status = support::parse_command_line(&app, "nccl-net-bench", argc, argv)) exit(*status);
  if (texts.list) {
    for (const Case& c : all_cases()) printf("%-28s %s\n", c.name, c.rule);
    exit(0);
  }
  if (o.plugin.empty()) throw CannotRun("which plugin? nccl-net-bench --help shows examples");
  finish_options(texts, o);
  return o;
}

}  // namespace mrc::net_bench
