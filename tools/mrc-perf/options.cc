#include "options.h"

#include <string>
#include <vector>

#include "append_item.h"
#include "command_line.h"
#include "error.h"
#include "size_text.h"
#include "slices.h"

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
    "  mrc-perf localhost --transport ud          datagram queue pairs: what arrives, and how many are lost\n"
    "  printf '0.1\\n0.1\\n' | mrc-perf localhost --slices     two slices of 0.1 s over the same queue pair\n"
    "\nReading the result: Gb/s are payload bits; 'CPU s/GB' adds both processes; planes and EVs (paths) are those\n"
    "of the side that prints them. 'in packets': so few messages end in a second that the line counts packets' bytes.\n"
    "Exit code 0: all went well; 1: wrong data or an error; 2: bad command line.\n"
    "\nEnvironment: MRC_CONFIG names a configuration file, MRC_FAULT injects faults; mrc-info explains both.\n"
    "Between two processes of one host packets pass through shared memory, with MRC_SAME_HOST=network\n"
    "through the sockets.\n";

std::string one_of_mtus(const std::string& text) {
  for (uint32_t mtu : kMtus)
    if (text == std::to_string(mtu)) return {};
  return "must be 256, 512, 1024, 2048, 4096 or 8192 (8192 is an extension of this library)";
}

// An option whose value is a word of the table.
template <typename E, size_t N>
CLI::Option* add_word(CLI::App* to, const char* name, const Word<E> (&table)[N], E* value, const char* what) {
  const auto set = [name, &table, value](const std::string& text) {
    const std::optional<E> found = find_word(table, text);
    if (!found) throw CLI::ValidationError(name, "'" + text + "' is none of " + all_words(table));
    *value = *found;
  };
  std::string type;
  for (const Word<E>& word : table) append_item(&type, word.text, "|");
  return to->add_option_function<std::string>(name, set, what)->type_name(type);
}

void parse_retry(const std::string& text, Options* o) {
  int consumed = 0;
  if (std::sscanf(text.c_str(), "%d,%d%n", &o->retry_linear, &o->retry_exp, &consumed) != 2 ||
      consumed != static_cast<int>(text.size()) || o->retry_linear < 0 || o->retry_linear > kMaxLinear ||
      o->retry_exp < 0 || o->retry_exp > kMaxExponential)
    throw UsageError("--retry '" + text + "' is not LINEAR,EXPONENTIAL", "for example --retry 3,4; at most 7,25");
}

// Fills what the user left open.
void choose_defaults(Options* o) {
  const bool largest = o->datagrams() && o->test == Test::kBandwidth;  // see fit_datagrams()
  if (o->sizes.empty() && !largest)
    o->sizes = {o->test == Test::kBandwidth ? 1048576U : o->test == Test::kLatency ? 2U : 64U};
  if (o->iters == 0 && o->duration_s == 0) {
    if (o->slices)
      o->duration_s = tools::kSliceSeconds;
    else if (o->test == Test::kLatency)
      o->iters = 20000;
    else
      o->duration_s = o->sizes.size() > 1 ? 1 : 2;
  }
  if (o->inline_bytes < 0) o->inline_bytes = o->test == Test::kBandwidth ? 0 : 64;
}

// An option that this side ignores was intended for the other one.
void refuse_options(const std::vector<CLI::Option*>& options, const char* why, const char* advice) {
  for (const CLI::Option* option : options)
    if (option->count() > 0) throw UsageError(option->get_name() + " " + why, advice);
}

// Words of several parts, parsed once the command line is complete.
struct Given {
  std::string size, sizes, retry;
};

void add_test_options(CLI::App* group, Options* o, Given* given) {
  add_word(group, "--test", kTests, &o->test,
           "bw: bandwidth, lat: latency by ping-pong, rate: small messages per second");
  add_word(
      group, "--transport", kTransports, &o->transport,
      "mrc: reliable queue pairs, or ud: datagram queue pairs; a datagram is at most one path MTU and may be lost");
  add_word(group, "--op", kOps, &o->op,
           "write, or write-imm (the receiver gets a completion for each); datagrams are always send");
  auto* size_option = group->add_option(
      "-s,--size", given->size,
      "Message size, for example 64K; default 1M (bw; of datagrams the path MTU), 2 (lat), 64 (rate)");
  group->add_option("--sizes", given->sizes, "Several sizes: a list 4K,1M or a sweep 4K-64M in steps of four")
      ->excludes(size_option);
  group->add_option("--qps", o->qps, "Queue pairs")->check(support::in_range(1U, kMaxQps))->capture_default_str();
  group
      ->add_option("--threads", o->threads,
                   "Threads of each side, each with an equal part of the queue pairs (bw and rate); to use as many "
                   "processors, start both sides with MRC_SHARDS of that number")
      ->check(support::in_range(1U, kMaxThreads))
      ->capture_default_str();
  group->add_option("--depth", o->depth, "Messages in flight per queue pair; default by size")
      ->check(support::in_range(1U, kMaxDepth));
  group->add_option("--signal-every", o->signal_every, "Request a completion every so many messages; default by depth")
      ->check(support::in_range(1U, kMaxDepth));
  auto* iters = group
                    ->add_option("-n,--iters", o->iters,
                                 "Messages per queue pair; bw and rate send whole groups of --signal-every")
                    ->check(support::in_range(uint64_t{1}, kMaxIters));
  group->add_option("-t,--duration", o->duration_s, "Seconds per size; default 2, with --slices 0.15")
      ->check(support::in_range(kMinSeconds, kMaxSeconds))
      ->excludes(iters);
  group->add_flag("-b,--bidirectional", o->bidirectional, "Both sides send (bw and rate)");
  group->add_option("--mtu", o->mtu, "Path MTU: payload bytes per packet; default: the maximum of both devices")
      ->check(CLI::Validator([](std::string& t) { return one_of_mtus(t); }, "MTU"));
  group
      ->add_option("--inline", o->inline_bytes,
                   "Messages up to this size are copied when posted; default 64 for lat and rate")
      ->check(support::in_range(0, kMaxInline));
  group->add_flag("--verify", o->verify, "Pseudo-random data, every byte compared at the receiver (bw and rate)");
  group->add_option("--seed", o->seed, "Seed of that data")
      ->check(support::in_range(uint64_t{0}, UINT64_MAX))
      ->capture_default_str();
  auto* timeline = group
                       ->add_option("--timeline", o->timeline_ms,
                                    "Print a line each so many milliseconds: throughput, planes, EV states")
                       ->check(support::in_range(1, 60000));
  group
      ->add_option("--timeline-lines", o->timeline_line_ms,
                   "Milliseconds between the printed lines, where the rows of --json follow each other faster")
      ->check(support::in_range(1, 60000))
      ->needs(timeline);
  group->add_option("--timeout", o->timeout, "Packet timeout exponent n: 1.024 us * 2^n")
      ->check(support::in_range(0, kMaxTimeout));
  group->add_option(
      "--retry", given->retry,
      "Repetitions LINEAR,EXPONENTIAL before giving up, at most 7,25; 25 is for ever, the default 15 two minutes");
  group->add_flag("--sleepy-server", o->sleepy_server,
                  "The server sleeps instead of polling: the library's helper thread receives");
  group
      ->add_flag("--slices", o->slices,
                 "Connect once; each line on standard input, a number of seconds or empty, runs the test for that long "
                 "and prints one JSON line: bytes, seconds, CPU seconds of both sides, latency")
      ->excludes(iters)
      ->excludes(timeline);
}

// What has no meaning for datagram queue pairs.
void check_datagrams(const Options& o) {
  const struct {
    bool given;
    const char* name;
    const char* advice;
  } refused[] = {
      {o.op != Op::kSend, "--op other than send", "leave --op out: datagrams are sent"},
      {o.threads > 1, "--threads", "use --qps alone"},
      {o.mtu != 0, "--mtu", "a datagram is one packet: use --size"},
      {o.timeout >= 0 || o.retry_linear >= 0, "--timeout and --retry", "datagrams are not sent again"},
      {o.timeline_ms != 0, "--timeline", "it shows the paths of a reliable queue pair"},
      {o.sleepy_server, "--sleepy-server", "the receiver of datagrams has to post receive requests"},
  };
  for (const auto& option : refused)
    if (option.given) throw UsageError(std::string(option.name) + " does not go with --transport ud", option.advice);
}

}  // namespace

const char* transport_name(Transport transport) {
  return kTransports[static_cast<size_t>(transport)].text;
}
const char* op_name(Op op) {
  return kOps[static_cast<size_t>(op)].text;
}
const char* test_name(Test test) {
  return kTests[static_cast<size_t>(test)].text;
}

Options parse_options(int argc, char** argv) {
  Options o;
  CLI::App app{kAbout};
  app.footer(kExamples);
  Given given;
  auto* host = app.add_option("HOST", o.host, "Host name of the server; without it this process is the server");
  app.add_option("-p,--port", o.port, "TCP port of the server")
      ->check(support::in_range(1, 65535))
      ->capture_default_str();
  app.add_option("-d,--device", o.device, "Device name (mrc-info lists them); default: the first");
  app.add_option("-x,--gid-index", o.gid_index, "Index of the source GID; default: 3, or the first that is not zero");
  app.add_option("--json", o.json, "Write the report as JSON, an error's too, to this file, or - for standard output");
  app.add_flag("-q,--quiet", o.quiet, "No line per second");
  auto* persistent = app.add_flag("--persistent", o.persistent, "Server: serve one client after the other until ended");
  auto* wait = app.add_option("--wait", o.wait_s, "Client: seconds during which it tries to reach the server")
                   ->check(support::in_range(0.0, kMaxSeconds))
                   ->capture_default_str();

  CLI::App* group = app.add_option_group("Test", "given to the client, which tells the server");
  add_test_options(group, &o, &given);

  if (const auto status = support::parse_command_line(&app, "mrc-perf", argc, argv)) std::exit(*status);
  if (host->count() > 0 && o.host.empty())
    throw UsageError("HOST is empty", "name the server's host, or leave the word out to start the server");
  if (!given.size.empty()) o.sizes = {parse_size(given.size)};
  if (!given.sizes.empty()) o.sizes = parse_sizes(given.sizes);
  if (!given.retry.empty()) parse_retry(given.retry, &o);
  if (o.is_server()) {
    refuse_options(group->get_options(), "is an option of the client, which tells the server",
                   "give the server's host name first, or leave the option to the client");
    refuse_options({wait}, "is an option of the client", "give the server's host name first");
    return o;
  }
  refuse_options({persistent}, "is an option of the server", "leave it out, or the host name");
  if (o.datagrams() && group->get_option("--op")->count() == 0) o.op = Op::kSend;
  choose_defaults(&o);
  check_test(o);
  if (o.slices && !o.json.empty())
    throw UsageError("--slices prints a JSON line for each slice, and no report", "leave --json out");
  return o;
}

void check_test(const Options& o) {
  if (o.datagrams())
    check_datagrams(o);
  else if (o.op == Op::kSend)
    throw UsageError("--op send needs --transport ud", "MRC has writes alone: use --op write or write-imm");
  for (uint64_t size : o.sizes)
    if (size == 0 && (o.test == Test::kLatency || o.verify) && o.op == Op::kWrite)
      throw UsageError("a write of 0 bytes cannot be seen at the receiver", "use --op write-imm, or a --size above 0");
  if (o.test == Test::kLatency && (o.verify || o.bidirectional))
    throw UsageError("--verify and --bidirectional do not go with --test lat", "use --test bw");
  if (o.qps % o.threads != 0)
    throw UsageError(
        std::to_string(o.qps) + " queue pairs cannot be divided among " + std::to_string(o.threads) + " threads",
        "give a --qps that is a multiple of --threads");
  if (o.threads > 1 && (o.test == Test::kLatency || o.timeline_ms != 0))
    throw UsageError("--threads does not go with --test lat or --timeline", "use --test bw or rate");
  if (o.slices && (o.sizes.size() > 1 || o.iters != 0))
    throw UsageError("--slices measures one size, for a time", "start a pair of processes for each size");
}

}  // namespace mrc::perf
