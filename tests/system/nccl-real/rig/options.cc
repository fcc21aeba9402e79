#include "rig/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <sstream>

#include "cuda/library.h"
#include "cuda/nccl_api.h"
#include "rig/cases.h"
#include "rig/collectives.h"

namespace mrc::nccl_rig {

namespace {

constexpr const char* kAbout =
    "Runs NVIDIA's own libnccl.so.2 (2.28.9 for CUDA 13) over a net plugin on a machine without a GPU. CUDA is\n"
    "replaced by a stand-in whose device memory is memory of the host and whose kernels are threads that play NCCL's\n"
    "protocols; bootstrap, topology search, proxies and the plugin are the real ones. Every element of every result is\n"
    "compared.\n";

constexpr const char* kExamples =
    "\nExamples:\n"
    "  nccl-rig --ranks 4 --test all --sizes 4..64M       every collective over the MRC plugin\n"
    "  nccl-rig --test all_reduce -b 8 -e 128M -f 2       as all_reduce_perf of nccl-tests\n"
    "  nccl-rig --test all_reduce -d all -o all -b 64K -e 64K -n 1    every type and operator\n"
    "  MRC_SAME_HOST=network nccl-rig --test alltoall     over the sockets, as between hosts, not through shared memory\n"
    "  NCCL_PROTO=LL NCCL_DEBUG=INFO nccl-rig             NCCL's own variables apply\n"
    "  nccl-rig --plugin socket                           NCCL's own socket transport, for comparison\n"
    "  nccl-rig --launch 'mrc-fabric exec h{rank} --'     rank r on host r of the lab of mrc-fabric\n"
    "  MRC_FAULT='plane=1:blackhole@1s-' nccl-rig -b 16M -e 16M -n 100    a plane dies in mid-collective\n"
    "  nccl-rig --case split                              --case list shows all\n"
    "\nReading the table: as that of nccl-tests. algbw is bytes divided by time; busbw corrects it for the pattern, so that\n"
    "it compares with the speed of a link: x 2(n-1)/n for all_reduce, x (n-1)/n for all_gather, reduce_scatter and\n"
    "alltoall, x 1 for the rest. GB are 10^9 bytes. The time is that of the slowest rank; #wrong counts elements that\n"
    "are not what they must be. These times are those of threads on this machine's cores, not of a GPU.\n"
    "\nExit code 0: all well. 1: wrong data, an error of NCCL, another transport than the one expected, or no end in time.\n"
    "2: bad command line. 70: NCCL wanted something that the rig does not play. 77: no libnccl.so.2 of that build here\n"
    "(NCCL_RIG_LIBRARY names one).\n";

const char* const kTypeNames[] = {"int8", "uint8", "int32",  "uint32",   "int64",  "uint64",
                                  "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"};
const char* const kOpNames[] = {"sum", "prod", "max", "min", "avg"};

size_t parse_size(const std::string& text) {
  char* end = nullptr;
  const double value = strtod(text.c_str(), &end);
  std::string unit = end;
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return toupper(c); });
  const double factor = unit.empty()  ? 1
                        : unit == "K" ? 1024.0
                        : unit == "M" ? 1048576.0
                        : unit == "G" ? 1073741824.0
                                      : 0;
  const double bytes = value * factor;
  if (end == text.c_str() || factor == 0 || !(bytes >= 0 && bytes <= 1e12))
    throw BadOption("'" + text + "' is no size: 4, 64K, 1M, 1G (powers of 1024)");
  return static_cast<size_t>(bytes);
}

void add_sweep(size_t from, size_t to, size_t step, double factor, std::vector<size_t>* sizes) {
  if (from > to) throw BadOption("sizes from " + std::to_string(from) + " to " + std::to_string(to) + ": nothing");
  for (size_t size = from; size <= to;) {
    sizes->push_back(size);
    const size_t next = step > 0 ? size + step : static_cast<size_t>(std::ceil(static_cast<double>(size) * factor));
    if (next <= size) break;
    size = next;
  }
}

// "4..64M" or "4,1K,1M", or both
std::vector<size_t> parse_sizes(const std::string& text, double factor) {
  std::vector<size_t> sizes;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t dots = item.find("..");
    if (dots == std::string::npos)
      sizes.push_back(parse_size(item));
    else
      add_sweep(parse_size(item.substr(0, dots)), parse_size(item.substr(dots + 2)), 0, factor, &sizes);
  }
  if (sizes.empty()) throw BadOption("no size given");
  return sizes;
}

template <size_t N>
std::vector<int> parse_names(const std::string& text, const char* const (&names)[N], const char* what) {
  std::vector<int> found;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const auto* at = std::find(std::begin(names), std::end(names), item);
    if (item == "all")
      for (size_t i = 0; i < N; ++i) found.push_back(static_cast<int>(i));
    else if (at != std::end(names))
      found.push_back(static_cast<int>(at - std::begin(names)));
    else
      throw BadOption("'" + item + "' is no " + what + "; there are: " + CLI::detail::join(names, " ") + ", or all");
  }
  return found;
}

// By its file, or by the name that NCCL completes to one. Of other plugins the transport's name is not known.
bool is_mrc(const std::string& plugin) {
  return plugin.substr(plugin.rfind('/') + 1).find("mrc") != std::string::npos;
}

void check_tests(Options* o) {
  const std::vector<std::string> known = collective_names();
  if (o->tests == std::vector<std::string>{"all"}) o->tests = known;
  for (std::string& test : o->tests) {
    if (test.ends_with("_perf")) test.resize(test.size() - 5);  // the names of nccl-tests' programs
    if (std::find(known.begin(), known.end(), test) == known.end())
      throw BadOption("'" + test + "' is no test; there are: " + CLI::detail::join(known, " ") + ", or all");
  }
}

}  // namespace

const char* type_name(int type) {
  return kTypeNames[type];
}
const char* op_name(int op) {
  return kOpNames[op];
}

namespace {

// Options as they are typed; read after all of them are there.
struct Texts {
  std::string sizes, begin = "32M", end, step, types = "float", ops = "sum", launch;
  double factor = 0;
  int check = 1, local_register = 0;
  bool out_of_place = false, library = false;
};

void add_size_options(CLI::App& app, Options& o, Texts& texts) {
  app.add_option("--ranks,--np", o.processes, "Processes, each with -g devices")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("-g,--ngpus", o.gpus, "Devices (and ranks) of a process")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  app.add_option(
         "-t,--test", o.tests,
         "all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, sendrecv (comma-separated), or all")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--sizes", texts.sizes,
                 "Sizes in bytes instead of -b and -e: 4,1K,1M or a sweep 4..64M (by fours, or by -f)");
  app.add_option("-b,--minbytes", texts.begin, "Smallest size")->capture_default_str();
  app.add_option("-e,--maxbytes", texts.end, "Largest size (default: the smallest)");
  app.add_option("-i,--stepbytes", texts.step, "Sizes grow by this much (default: 1M, where there is no -f)");
  app.add_option("-f,--stepfactor", texts.factor, "Sizes grow by this factor")->check(CLI::Range(1.01, 1e6));
}

void add_run_options(CLI::App& app, Options& o, Texts& texts) {
  app.add_option("-n,--iters", o.iterations, "Timed runs of each size")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_option("-w,--warmup_iters", o.warm_up, "Runs before them")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  app.add_option(
         "-D,--duration", o.duration_s,
         "Seconds for each size, in batches of --iters of which each is checked; the time is their mean; an interrupt "
         "(Ctrl-C) makes the batch under way the last")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option("-c,--check", texts.check, "1: compare every element, 0: do not")
      ->check(CLI::Range(0, 1))
      ->capture_default_str();
  app.add_option("-d,--datatype", texts.types, "int8 ... f8e5m2 (comma-separated), or all")->capture_default_str();
  app.add_option("-o,--op", texts.ops, "sum, prod, max, min, avg, or all")->capture_default_str();
  app.add_option("-r,--root", o.root, "Root of broadcast and reduce")
      ->check(CLI::Range(0, 1023))
      ->capture_default_str();
  app.add_option("-R,--local_register", texts.local_register, "1: register the buffers with the communicator")
      ->check(CLI::Range(0, 1));
  app.add_option("-T,--timeout", o.limit_s, "Seconds after which the run is ended as failed")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  app.add_option("--sm", o.sm,
                 "Compute capability of the devices: 80, or 90, from which on NCCL reduces f8e4m3 and f8e5m2")
      ->check(CLI::IsMember({80, 90}))
      ->capture_default_str();
}

void add_other_options(CLI::App& app, Options& o, Texts& texts) {
  app.add_flag("--out-of-place", texts.out_of_place, "Do not run in place as well");
  app.add_option("--case", o.only_case, "One of the cases about the life of communicators instead; 'list' lists them");
  app.add_option("--repeat", o.repeat, "Of a case: how often")->check(CLI::Range(1, 1000000));
  app.add_option("--plugin", o.plugin, "NCCL_NET_PLUGIN; 'socket' for NCCL's own transport")->capture_default_str();
  app.add_option("--expect-net", o.expect_net,
                 "Name that the log must have after 'Assigned NET plugin' (MRC; Socket; of another plugin: any)");
  app.add_option("--launch", texts.launch, "Words that start a process elsewhere on this machine, with {rank}");
  app.add_option("--env", o.environment, "NAME=VALUE for the ranks, with {rank}; may be repeated");
  app.add_option("--log", o.log_folder, "Folder for NCCL's whole log, a file per rank");
  app.add_option("--json", o.json, "Write the report as JSON to this file, or - for standard output");
  app.add_flag("--library", texts.library,
               "Print which libnccl would be loaded; exit code 77 with the reason where none can be");
  app.add_flag(
      "--timeline", o.timeline,
      "Add to the JSON report when each batch, and each check, began and ended, in seconds of CLOCK_MONOTONIC, and its runs");
  app.add_flag(
      "--slices", o.slices,
      "Measure for each line of standard input, 'TEST BYTES RUNS WARM_UP SECONDS CHECK', until it ends, and print a "
      "line of JSON for each, and one before them when the ranks are connected; CHECK 1: compare every element. Out "
      "of place, with the first type and operator");
  app.add_flag("--functions", o.functions, "Print which functions of NCCL's kernels were played, and how often");
}

void finish_options(const Texts& texts, Options& o) {
  if (!o.only_case.empty() && find_case(o.only_case) == nullptr)
    throw BadOption("'" + o.only_case + "' is no case; --case list lists them");
  if (!texts.sizes.empty())
    o.sizes = parse_sizes(texts.sizes, texts.factor > 0 ? texts.factor : 4);
  else
    add_sweep(parse_size(texts.begin), parse_size(texts.end.empty() ? texts.begin : texts.end),
              texts.factor > 0 ? 0 : parse_size(texts.step.empty() ? "1M" : texts.step), texts.factor, &o.sizes);
  o.types = parse_names(texts.types, kTypeNames, "type");
  o.ops = parse_names(texts.ops, kOpNames, "operator");
  o.check = texts.check != 0;
  o.register_buffers = texts.local_register != 0;
  o.in_place = !texts.out_of_place;
  check_tests(&o);
  if (o.slices && (!o.only_case.empty() || o.duration_s > 0 || !o.json.empty()))
    throw BadOption("--slices excludes --case, --duration and --json");
  if (o.root >= o.ranks()) throw BadOption("there is no rank " + std::to_string(o.root) + " to be the root");
  if (o.expect_net.empty()) o.expect_net = o.plugin == "socket" ? "Socket" : is_mrc(o.plugin) ? "MRC" : "";
  std::istringstream words(texts.launch);
  for (std::string word; words >> word;) o.launch.push_back(word);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options o;
  Texts texts;
  CLI::App app{kAbout, "nccl-rig"};
  app.footer(kExamples);
  app.set_version_flag("--version", std::string("nccl-rig ") + MRC_VERSION + ", for NCCL 2.28.9");
  o.tests = {"all_reduce"};
  o.plugin = MRC_NCCL_PLUGIN;
  add_size_options(app, o, texts);
  add_run_options(app, o, texts);
  add_other_options(app, o, texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    exit(code == 0 ? 0 : 2);
  }
  if (texts.library) {
    const std::string path = find_library();
    require_library(path);
    printf("%s\n", path.c_str());
    exit(0);
  }
  if (o.only_case == "list") {
    for (const Case& c : all_cases()) printf("%-20s %s\n", c.name, c.what);
    exit(0);
  }
  finish_options(texts, o);
  return o;
}

}  // namespace mrc::nccl_rig
