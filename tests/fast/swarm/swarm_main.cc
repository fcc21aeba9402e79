// Runs worlds of the swarm, with --forger those with a forger in them; the seed of a failure alone reproduces it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "swarm/swarm_world.h"

namespace {

constexpr const char* kUsage =
    "usage: swarm_test [--forger] [--seeds N] [--first S] [--known FILE] [--shard I/N] | [--forger] --seed S\n"
    "\n"
    "Seeds S to S+N-1 and those that FILE lists; of these only every N-th, from the I-th on (1/4 to 4/4).\n"
    "FILE has a line for each seed that once failed: SEED or \"forger SEED\", and a # before comments.\n"
    "MRC_SWARM_SEEDS and MRC_SWARM_FIRST replace the numbers of the command line: slow builds run fewer, each commit others.\n";

struct Options {
  bool forger = false, verbose = false;
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
    if (word == "--forger") {
      o->forger = true;
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
  if (const char* n = std::getenv("MRC_SWARM_SEEDS")) return number(n, &o->seeds);
  return true;
}

// Seeds of that kind in the file.
std::vector<unsigned long long> known_seeds(const std::string& file, bool forger) {
  std::vector<unsigned long long> seeds;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    line.resize(std::min(line.size(), line.find('#')));
    unsigned long long seed = 0;
    if (std::sscanf(line.c_str(), forger ? "forger %llu" : "%llu", &seed) == 1) seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  if (!parse(argc, argv, &o)) return std::fputs(kUsage, stderr), 2;
  if (const char* first = std::getenv("MRC_SWARM_FIRST"); first && !o.verbose && !number(first, &o.first))
    return std::fputs(kUsage, stderr), 2;
  std::vector<unsigned long long> seeds = known_seeds(o.known, o.forger);
  for (unsigned long long i = 0; i < o.seeds; ++i) seeds.push_back(o.first + i);
  unsigned long long passed = 0, failed = 0, ended = 0;
  for (size_t i = o.shard - 1; i < seeds.size() && failed < 20; i += o.shards) {
    const mrc::swarm::Outcome world =
        o.forger ? mrc::swarm::run_forged_world(seeds[i]) : mrc::swarm::run_world(seeds[i]);
    ended += world.failed_qp;
    if (o.verbose || !world.ok) std::printf("seed %llu: %s\n", seeds[i], world.summary.c_str());
    if (world.ok) {
      ++passed;
      continue;
    }
    ++failed;
    std::printf("  %s\n  repeat with: swarm_test %s--seed %llu\n", world.failure.c_str(), o.forger ? "--forger " : "",
                seeds[i]);
  }
  if (o.forger) std::printf("%llu connections were ended by the forger\n", ended);
  std::printf("seeds from %llu on: %llu passed, %llu failed\n", o.first, passed, failed);
  return failed == 0 ? 0 : 1;
}
