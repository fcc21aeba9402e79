// The command line.
#pragma once

#include <string>
#include <vector>

#include "world.h"

namespace mrc::net_bench {

struct Options {
  std::string plugin;   // the path of the library
  std::string against;  // of a second one to be driven alternately; empty: none
  Environment environment, against_environment;
  std::vector<int> abis;  // 0: the newest that the plugin exports
  std::vector<std::string> tests;
  std::vector<size_t> sizes;
  int ranks = 2;
  int device = 0;
  size_t slice = 512 * 1024;
  size_t depth = 8;
  int iterations = 20;
  double duration_s = 0;  // batches of `iterations` until then; 0: one batch
  int warm_up = 2;
  int rounds = 5;
  bool check = true;
  double limit_s = 120;
  double min_ratio = 0;
  std::string json;  // file name, or "-"
  bool conformance = false;
  std::vector<std::string> only;  // cases; empty: all
  double death_limit_s = 30;
  std::string path_prober = "mrcctl";  // of a preflight, on its hosts too; empty: none
};

// Prints help and exits on request; throws CannotRun for invalid values.
Options parse_options(int argc, char** argv);

}  // namespace mrc::net_bench
