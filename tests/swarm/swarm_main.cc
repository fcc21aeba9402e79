// swarm_test [--forger] [--seeds N] [--first S] | --seed S: runs that many worlds, with --forger those with a forger in
// them; the failing seed alone reproduces a failure.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "swarm/swarm_world.h"

int main(int argc, char** argv) {
  unsigned long long seeds = 2000, first = 1;
  bool verbose = false, forger = false;
  if (const char* scale = std::getenv("MRC_SWARM_SEEDS")) seeds = std::strtoull(scale, nullptr, 10);
  for (int i = 1; i < argc; ++i) {
    const bool value = i + 1 < argc;
    if (std::strcmp(argv[i], "--seeds") == 0 && value && std::getenv("MRC_SWARM_SEEDS") == nullptr) {
      seeds = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--seeds") == 0 && value) {
      ++i;  // the environment decides: slow builds run fewer
    } else if (std::strcmp(argv[i], "--forger") == 0) {
      forger = true;
    } else if (std::strcmp(argv[i], "--first") == 0 && value) {
      first = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--seed") == 0 && value) {
      first = std::strtoull(argv[++i], nullptr, 10);
      seeds = 1;
      verbose = true;
    } else {
      std::fprintf(stderr, "usage: swarm_test [--forger] [--seeds N] [--first S] | --seed S\n");
      return 2;
    }
  }
  unsigned long long failed = 0, ended = 0;
  for (unsigned long long s = first; s < first + seeds; ++s) {
    const mrc::swarm::Outcome o = forger ? mrc::swarm::run_forged_world(s) : mrc::swarm::run_world(s);
    ended += o.failed_qp;
    if (verbose || !o.ok) std::printf("seed %llu: %s\n", s, o.summary.c_str());
    if (o.ok) continue;
    std::printf("  %s\n  repeat with: swarm_test %s--seed %llu\n", o.failure.c_str(), forger ? "--forger " : "", s);
    if (++failed == 20) break;
  }
  if (forger) std::printf("%llu connections were ended by the forger\n", ended);
  std::printf("%llu passed, %llu failed\n", seeds - failed, failed);
  return failed == 0 ? 0 : 1;
}
