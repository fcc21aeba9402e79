// Runs worlds of the swarm, with --forger those with a forger in them, with --calm those without losses, with --hosts
// those of programs that crash; the seed of a failure alone reproduces it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "swarm/swarm_world.h"

namespace {

constexpr const char* kUsage =
    "usage: swarm_test [--forger | --calm | --hosts] [--seeds N] [--first S] [--known FILE] [--shard I/N]\n"
    "       swarm_test [--forger | --calm | --hosts] --seed S\n"
    "\n"
    "Seeds S to S+N-1 and those that FILE lists; of these only every N-th, from the I-th on (1/4 to 4/4).\n"
    "Calm worlds and those of hosts are large: a twentieth of N. Calm worlds are judged by their sum, which varies by a\n"
    "factor of six from hundred to hundred. So of less than a thousand it is that of the seeds from 1 on, with a quarter\n"
    "as many from S on beside them, each judged by itself.\n"
    "FILE has a line for each seed that once failed: SEED, or it behind forger, calm or hosts, and a # before comments.\n"
    "MRC_SWARM_SEEDS and MRC_SWARM_FIRST replace the numbers of the command line: slow builds run fewer, each commit others.\n";

constexpr unsigned long long kLargeCost = 20;  // a calm world, or one of hosts, takes as long as so many others
constexpr unsigned long long kSample = 1000;   // calm worlds whose sum is not chance

struct Options {
  std::string kind;  // "forger", "calm", "hosts", or none
  bool verbose = false;
  unsigned long long seeds = 2000, first = 1, shard = 1, shards = 1;
  std::string known;
};

bool number(const char* text, unsigned long long* out) {
  char* end = nullptr;
  *out = std::strtoull(text, &end, 10);
  return end != text && *end == 0;
}

bool parse(int argc, char** argv, Options* o) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--forger" || word == "--calm" || word == "--hosts") {
      o->kind = word.substr(2);
      continue;
    }
    ++i;
    if (word == "--known") {
      o->known = value;
    } else if (word == "--shard") {
      if (std::sscanf(value, "%llu/%llu", &o->shard, &o->shards) != 2 || o->shard < 1 || o->shard > o->shards)
        return false;
    } else if (word == "--seed") {
      o->seeds = 1;
      o->verbose = true;
      if (!number(value, &o->first)) return false;
    } else if (!(word == "--seeds" && number(value, &o->seeds)) && !(word == "--first" && number(value, &o->first))) {
      return false;
    }
  }
  if (o->verbose) return true;
  if (const char* n = std::getenv("MRC_SWARM_SEEDS"); n && !number(n, &o->seeds)) return false;
  if (o->kind == "calm" || o->kind == "hosts") o->seeds = (o->seeds + kLargeCost - 1) / kLargeCost;
  return true;
}

// Seeds of that kind in the file; none: it cannot be read, or a line is no seed.
std::optional<std::vector<unsigned long long>> known_seeds(const std::string& file, const std::string& kind) {
  std::vector<unsigned long long> seeds;
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string of, seed_text, more;
    if (!(words >> of)) continue;
    const bool bare = !(words >> seed_text);
    if (bare) seed_text = std::exchange(of, "");
    unsigned long long seed = 0;
    const bool known = of.empty() || of == "forger" || of == "calm" || of == "hosts";
    if (!known || !number(seed_text.c_str(), &seed) || words >> more) {
      std::fprintf(stderr, "%s: '%s' is no seed\n", file.c_str(), line.c_str());
      return std::nullopt;
    }
    if (of == kind) seeds.push_back(seed);
  }
  if (in.eof()) return seeds;
  std::fprintf(stderr, "%s cannot be read\n", file.c_str());
  return std::nullopt;
}

mrc::swarm::Outcome run(const std::string& kind, unsigned long long seed) {
  if (kind == "forger") return mrc::swarm::run_forged_world(seed);
  if (kind == "calm") return mrc::swarm::run_calm_world(seed);
  if (kind == "hosts") return mrc::swarm::run_host_world(seed);
  return mrc::swarm::run_world(seed);
}

// Of calm worlds: what hosts that are busy may cost in all, beside what a single unlucky world does.
constexpr double kCalmAgain = 1e-4, kCalmRetired = 0.04;
constexpr double kUnluckyAgain = 100, kUnluckyRetired = 2;

class CalmSum {
 public:
  void add(unsigned long long seed, const mrc::swarm::Outcome& world) {
    ++worlds_;
    packets_ += static_cast<double>(world.packets);
    again_ += static_cast<double>(world.again);
    retired_ += world.retired;
    if (world.retired || static_cast<double>(world.again) > kCalmAgain * static_cast<double>(world.packets))
      restless_ += " " + std::to_string(seed);
  }
  // Prints the sum. False: too much.
  bool judge() const {
    std::printf("calm: %.0f of %.0f packets sent again, paths retired in %.0f of %.0f worlds\n", again_, packets_,
                retired_, worlds_);
    if (again_ <= kCalmAgain * packets_ + kUnluckyAgain && retired_ <= kCalmRetired * worlds_ + kUnluckyRetired)
      return true;
    std::printf("  at most %g and %g are expected; most in the seeds%s\n", kCalmAgain * packets_ + kUnluckyAgain,
                kCalmRetired * worlds_ + kUnluckyRetired, restless_.c_str());
    return false;
  }

 private:
  double worlds_ = 0, packets_ = 0, again_ = 0, retired_ = 0;
  std::string restless_;
};

}  // namespace

int main(int argc, char** argv) {
  Options o;
  if (!parse(argc, argv, &o)) return std::fputs(kUsage, stderr), 2;
  if (const char* first = std::getenv("MRC_SWARM_FIRST"); first && !o.verbose && !number(first, &o.first))
    return std::fputs(kUsage, stderr), 2;
  std::vector<unsigned long long> seeds;
  if (!o.known.empty()) {
    std::optional<std::vector<unsigned long long>> known = known_seeds(o.known, o.kind);
    if (!known) return 2;
    seeds = *std::move(known);
  }
  const bool fixed = o.kind == "calm" && !o.verbose && o.seeds < kSample && o.first != 1;
  const unsigned long long fresh = fixed ? (o.seeds + 3) / 4 : o.seeds;
  for (unsigned long long i = 0; i < fresh; ++i) seeds.push_back(o.first + i);
  const size_t summed_from = fixed ? seeds.size() : 0;
  for (unsigned long long i = 0; fixed && i < o.seeds; ++i) seeds.push_back(1 + i);
  if (seeds.empty()) return std::fputs("there is no world to run\n", stderr), 2;
  CalmSum calm;
  unsigned long long passed = 0, failed = 0, ended = 0;
  for (size_t i = o.shard - 1; i < seeds.size() && failed < 20; i += o.shards) {
    const mrc::swarm::Outcome world = run(o.kind, seeds[i]);
    ended += world.failed_qp;
    if (i >= summed_from) calm.add(seeds[i], world);
    if (o.verbose || !world.ok) std::printf("seed %llu: %s\n", seeds[i], world.summary.c_str());
    if (world.ok) {
      ++passed;
      continue;
    }
    ++failed;
    std::printf("  %s\n  repeat with: swarm_test %s--seed %llu\n", world.failure.c_str(),
                o.kind.empty() ? "" : ("--" + o.kind + " ").c_str(), seeds[i]);
  }
  if (o.kind == "forger") std::printf("%llu connections were ended by the forger\n", ended);
  std::printf("seeds from %llu on: %llu passed, %llu failed\n", o.first, passed, failed);
  const bool as_calm = o.kind != "calm" || o.verbose || calm.judge();
  return failed == 0 && as_calm ? 0 : 1;
}
