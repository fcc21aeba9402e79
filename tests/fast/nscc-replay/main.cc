// mrc-nscc-replay: replays recorded NSCC events of the UEC's simulator against this library's NSCC and compares every
// recorded variable after each event. Format of the records: spec/nscc.md, "Recordings". Exit status 0: no difference,
// 1: differences, 2: not a recording or bad usage.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "command_line.h"
#include "nscc_replay.h"

namespace {

using mrc::core::NsccReplay;

enum ExitStatus { kSame = 0, kDiffers = 1, kBad = 2 };

void print_text(const std::string& file, const NsccReplay& replay) {
  const NsccReplay::Counts& c = replay.counts();
  std::printf("%s: %llu contexts, %llu ACKs (%llu RTS), %llu NACKs, %llu timeouts\n", file.c_str(),
              static_cast<unsigned long long>(c.contexts), static_cast<unsigned long long>(c.acks),
              static_cast<unsigned long long>(c.rts_acks), static_cast<unsigned long long>(c.nacks),
              static_cast<unsigned long long>(c.timeouts));
  std::printf("branches:");
  for (size_t bit = 0; bit < c.branches.size(); ++bit) {
    std::printf(" %s %llu", NsccReplay::branch_name(bit), static_cast<unsigned long long>(c.branches[bit]));
  }
  std::printf("\ncompared %llu variables, %llu mismatches\n", static_cast<unsigned long long>(c.compared),
              static_cast<unsigned long long>(c.mismatches));
  for (const NsccReplay::Mismatch& m : replay.mismatches()) {
    std::printf("line %llu: %s expected %lld, got %lld\n", static_cast<unsigned long long>(m.line), m.variable.c_str(),
                static_cast<long long>(m.expected), static_cast<long long>(m.got));
  }
  if (c.mismatches > replay.mismatches().size()) {
    std::printf("and %llu more\n", static_cast<unsigned long long>(c.mismatches - replay.mismatches().size()));
  }
}

void print_json(const std::string& file, const NsccReplay& replay) {
  const NsccReplay::Counts& c = replay.counts();
  nlohmann::json branches, first = nlohmann::json::array();
  for (size_t bit = 0; bit < c.branches.size(); ++bit) branches[NsccReplay::branch_name(bit)] = c.branches[bit];
  for (const NsccReplay::Mismatch& m : replay.mismatches()) {
    first.push_back({{"line", m.line}, {"variable", m.variable}, {"expected", m.expected}, {"got", m.got}});
  }
  const nlohmann::json out = {
      {"file", file},
      {"records", {{"I", c.contexts}, {"A", c.acks}, {"N", c.nacks}, {"R", c.timeouts}}},
      {"rts_acks", c.rts_acks},
      {"branches", branches},
      {"compared", c.compared},
      {"mismatches", c.mismatches},
      {"first_mismatches", first},
  };
  std::cout << out.dump(2) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Replays a recording of NSCC events (CSV, spec/nscc.md) and compares every recorded variable after each event.\n"
      "Exit status: 0 no difference, 1 differences, 2 not a recording."};
  std::string file;
  bool json = false, trimming = false, no_trimming = false;
  int64_t target = 0;
  size_t keep = 20;
  app.add_option("FILE", file, "the recording, '-' for standard input")->required();
  app.add_flag("--json", json, "print one JSON object");
  auto* on = app.add_flag("--trimming", trimming, "the recorded network trimmed packets: T is 0.75 R");
  auto* off = app.add_flag("--no-trimming", no_trimming,
                           "it did not: T is R; with neither flag the first event of each flow decides");
  auto* by_hand =
      app.add_option("--target-delay", target, "the recorded network's T in ps")->check(CLI::PositiveNumber);
  on->excludes(off)->excludes(by_hand);
  off->excludes(by_hand);
  app.add_option("--first", keep, "how many differences to print")->capture_default_str();
  if (const auto status = mrc::support::parse_command_line(&app, "mrc-nscc-replay", argc, argv)) return *status;

  std::ifstream opened;
  if (file != "-") {
    opened.open(file);
    if (!opened) {
      std::fprintf(stderr, "mrc-nscc-replay: cannot open %s\n", file.c_str());
      return kBad;
    }
  }
  std::istream& in = file == "-" ? std::cin : opened;
  NsccReplay::Options options;
  options.target = target;
  if (trimming) options.trimming = NsccReplay::Trimming::kOn;
  if (no_trimming) options.trimming = NsccReplay::Trimming::kOff;
  options.keep_mismatches = keep;
  NsccReplay replay(options);
  std::string line;
  while (std::getline(in, line)) {
    if (!replay.feed(line)) {
      std::fprintf(stderr, "mrc-nscc-replay: %s line %llu: %s\n", file.c_str(),
                   static_cast<unsigned long long>(replay.line_number()), replay.error().c_str());
      return kBad;
    }
  }
  const NsccReplay::Counts& c = replay.counts();
  if (in.bad() || c.acks + c.nacks + c.timeouts == 0) {
    std::fprintf(stderr, "mrc-nscc-replay: %s line %llu: %s\n", file.c_str(),
                 static_cast<unsigned long long>(replay.line_number()), in.bad() ? "read error" : "no event recorded");
    return kBad;
  }
  if (json) {
    print_json(file, replay);
  } else {
    print_text(file, replay);
  }
  return c.mismatches == 0 ? kSame : kDiffers;
}
