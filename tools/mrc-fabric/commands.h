// The command line: its options and commands.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "lab.h"

namespace mrc::fabric {

struct Options {
  std::string lab, fabric, node;
  std::vector<std::string> words;  // the program of `run` and `exec`
  double scale = 0;
  bool json = false, replace = false, all = false;
  // trace
  std::string source, target, path = "all";
  uint32_t count = 1, wait_ms = 1000;
  // fault
  std::string where, state, share, rate, direction = "both", down_time = "50ms", up_time = "450ms";
  // render
  std::vector<std::string> formats;
  std::string out;
};

// command_line.cc
void declare_commands(CLI::App* app, Options* options);
// commands.cc. Exit status: 0 done; 1 it failed or the fabric is not as it should be; 2 bad command line or file.
int run_commands(const CLI::App& app, Options options);

}  // namespace mrc::fabric
