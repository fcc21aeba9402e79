#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "error.h"
#include "size_text.h"

namespace mrc::perf {

namespace {

constexpr const char* kAbout =
    "Measures MRC between two processes: one queue pair (or many) writing into the other side's memory.\n"
    "Start it without a host on one side, and with that side's host name on the other.\n"
    "An interrupt (Ctrl-C) of the latter ends its transfer well before the time.\n";

constexpr const char* kExamples =
    "\nExamples (the first line of each on one side, the second on the other):\n"
    "  mrc-perf                                   server: waits for one client, then exits\n"
    "  mrc-perf localhost                         bandwidth of one QP, 1 MiB writes, 2 seconds\n"
    "  mrc-perf localhost --sizes 4K-64M          the same over a sweep of sizes\n"
    "  mrc-perf localhost --test lat              half round trip of 2-byte writes, both sides polling\n"
    "  mrc-perf localhost --test rate --qps 4     64-byte messages per second\n"
    "  mrc-perf localhost --op write-imm --verify --duration 5     every byte checked at the receiver\n"
    "  MRC_FAULT='plane=2:blackhole@1s-2s' mrc-perf localhost --duration 4 --timeline 100\n"
    "                                             watch a plane die and come back (set it on both sides)\n"
    "\nReading the result: Gb/s are payload bits; 'CPU s/GB' adds both processes; planes and EVs (paths) are those\n"
    "of the side that prints them. Exit code 0: all went well; 1: wrong data or an error; 2: bad command line.\n"
    "\nEnvironment: MRC_CONFIG names a configuration file, MRC_FAULT injects faults; mrc-info explains both.\n";

std::string one_of(const std::vector<uint32_t>& allowed, const std::string& text) {
  for (uint32_t a : allowed)
    if (text == std::to_string(a)) return {};
  return "must be 256, 512, 1024, 2048, 4096 or 8192 (8192 is an extension of this library)";
}

}  // namespace

const char* op_name(Op op) {
  return op == Op::kWrite ? "write" : "write-imm";
}
const char* test_name(Test test) {
  return test == Test::kBandwidth ? "bw" : test == Test::kLatency ? "lat" : "rate";
}

Options parse_options(int argc, char** argv) {
  Options o;
  CLI::App app{kAbout};
  app.footer(kExamples);
  std::string size, sizes, retry;
  app.add_option("HOST", o.host, "Host name of the server; without it this process is the server");
  app.add_option("-p,--port", o.port, "TCP port on which the two sides find each other")->capture_default_str();
  app.add_option("-d,--device", o.device, "Device name (mrc-info lists them); default: the first");
  app.add_option("-x,--gid-index", o.gid_index, "Index of the source GID; default: 3, or the first that is not zero");
  app.add_option("--json", o.json, "Write the report as JSON to this file, or - for standard output");
  app.add_flag("-q,--quiet", o.quiet, "No line per second");
  app.add_flag("--persistent", o.persistent, "Server: serve one client after the other until ended");
  app.add_option("--wait", o.wait_s, "Client: seconds during which it tries to reach the server")
      ->capture_default_str();

  const std::map<std::string, Op> ops{{"write", Op::kWrite}, {"write-imm", Op::kWriteImm}};
  const std::map<std::string, Test> tests{{"bw", Test::kBandwidth}, {"lat", Test::kLatency}, {"rate", Test::kRate}};
  auto* group = app.add_option_group("Test", "given to the client, which tells the server");
  group->add_option("--test", o.test, "bw: bandwidth, lat: latency by ping-pong, rate: small messages per second")
      ->transform(CLI::CheckedTransformer(tests));
  group->add_option("--op", o.op, "write, or write-imm (the receiver gets a completion for each)")
      ->transform(CLI::CheckedTransformer(ops));
  auto* size_option =
      group->add_option("-s,--size", size, "Message size, for example 64K; default 1M (bw), 2 (lat), 64 (rate)");
  group->add_option("--sizes", sizes, "Several sizes: a list 4K,1M or a sweep 4K-64M in steps of four")
      ->excludes(size_option);
  group->add_option("--qps", o.qps, "Queue pairs")->check(CLI::Range(1, 60000))->capture_default_str();
  group->add_option("--depth", o.depth, "Messages in flight per queue pair; default by size")
      ->check(CLI::Range(1, 8192));
  group->add_option("--signal-every", o.signal_every, "Ask for a completion every so many messages; default by depth")
      ->check(CLI::Range(1, 8192));
  auto* iters = group->add_option("-n,--iters", o.iters, "Messages per queue pair")->check(CLI::PositiveNumber);
  group->add_option("-t,--duration", o.duration_s, "Seconds per size; default 2")
      ->check(CLI::Range(0.01, 86400.0))
      ->excludes(iters);
  group->add_flag("-b,--bidirectional", o.bidirectional, "Both sides send (bw and rate)");
  group->add_option("--mtu", o.mtu, "Path MTU: payload bytes per packet; default: the most that both devices carry")
      ->check(CLI::Validator(
          [](std::string& t) {
            return one_of({256, 512, 1024, 2048, 4096, 8192}, t);
          },
          "MTU"));
  group
      ->add_option("--inline", o.inline_bytes,
                   "Messages up to this size are copied when posted; default 64 for lat and rate")
      ->check(CLI::Range(0, 1024));
  group->add_flag("--verify", o.verify, "Pseudo-random data, every byte compared at the receiver (bw and rate)");
  group->add_option("--seed", o.seed, "Seed of that data")->capture_default_str();
  group
      ->add_option("--timeline", o.timeline_ms, "Print a line each so many milliseconds: throughput, planes, EV states")
      ->check(CLI::Range(1, 60000));
  group->add_option("--timeout", o.timeout, "Packet timeout exponent n: 1.024 us * 2^n")->check(CLI::Range(0, 24));
  group->add_option("--retry", retry, "Repetitions LINEAR,EXPONENTIAL before giving up, at most 7,25; 25 is for ever");
  group->add_flag("--sleepy-server", o.sleepy_server,
                  "The server sleeps instead of polling: the library's helper thread receives");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    std::exit(code == 0 ? 0 : 2);
  }
  if (!size.empty()) o.sizes = {parse_size(size)};
  if (!sizes.empty()) o.sizes = parse_sizes(sizes);
  if (!retry.empty()) {
    int consumed = 0;
    if (std::sscanf(retry.c_str(), "%d,%d%n", &o.retry_linear, &o.retry_exp, &consumed) != 2 ||
        consumed != static_cast<int>(retry.size()) || o.retry_linear < 0 || o.retry_linear > 7 || o.retry_exp < 0 ||
        o.retry_exp > 25)
      throw PerfError("--retry '" + retry + "' is not LINEAR,EXPONENTIAL", "for example --retry 3,4; at most 7,25");
  }
  choose_defaults(&o);
  return o;
}

void choose_defaults(Options* o) {
  if (o->sizes.empty()) o->sizes = {o->test == Test::kBandwidth ? 1048576U : o->test == Test::kLatency ? 2U : 64U};
  for (uint64_t size : o->sizes) {
    if (size > (1ULL << 30)) throw PerfError("a message has at most 1G", "choose a smaller --size");
    if (size == 0 && (o->test == Test::kLatency || o->verify) && o->op == Op::kWrite)
      throw PerfError("a write of 0 bytes cannot be seen at the receiver", "use --op write-imm, or a --size above 0");
  }
  if (o->test == Test::kLatency && (o->verify || o->bidirectional))
    throw PerfError("--verify and --bidirectional do not go with --test lat", "use --test bw");
  if (o->iters == 0 && o->duration_s == 0) {
    if (o->test == Test::kLatency)
      o->iters = 20000;
    else
      o->duration_s = o->sizes.size() > 1 ? 1 : 2;
  }
  if (o->inline_bytes < 0) o->inline_bytes = o->test == Test::kBandwidth ? 0 : 64;
}

nlohmann::json test_to_json(const Options& o) {
  return {{"op", static_cast<int>(o.op)},
          {"test", static_cast<int>(o.test)},
          {"sizes", o.sizes},
          {"qps", o.qps},
          {"depth", o.depth},
          {"signal_every", o.signal_every},
          {"iters", o.iters},
          {"duration_s", o.duration_s},
          {"bidirectional", o.bidirectional},
          {"mtu", o.mtu},
          {"inline_bytes", o.inline_bytes},
          {"verify", o.verify},
          {"seed", o.seed},
          {"timeout", o.timeout},
          {"retry_linear", o.retry_linear},
          {"retry_exp", o.retry_exp},
          {"sleepy_server", o.sleepy_server}};
}

void test_from_json(const nlohmann::json& j, Options* o) {
  o->op = static_cast<Op>(j.at("op").get<int>());
  o->test = static_cast<Test>(j.at("test").get<int>());
  j.at("sizes").get_to(o->sizes);
  j.at("qps").get_to(o->qps);
  j.at("depth").get_to(o->depth);
  j.at("signal_every").get_to(o->signal_every);
  j.at("iters").get_to(o->iters);
  j.at("duration_s").get_to(o->duration_s);
  j.at("bidirectional").get_to(o->bidirectional);
  j.at("mtu").get_to(o->mtu);
  j.at("inline_bytes").get_to(o->inline_bytes);
  j.at("verify").get_to(o->verify);
  j.at("seed").get_to(o->seed);
  j.at("timeout").get_to(o->timeout);
  j.at("retry_linear").get_to(o->retry_linear);
  j.at("retry_exp").get_to(o->retry_exp);
  j.at("sleepy_server").get_to(o->sleepy_server);
}

}  // namespace mrc::perf
