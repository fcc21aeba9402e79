// Running the points of a scenario file: one after the other in this process, several at a time in child processes, or
// this process's share of them under mpirun or in a Slurm array. A point is one run in one process, so the result is
// the same in any process; the last process to finish merges.
#pragma once

#include <string>
#include <vector>

#include "sim/helper/output.h"

namespace mrc::sim {

struct LaunchOptions {
  std::string out;
  unsigned jobs = 1;
  std::string launcher = "local";  // local, mpi, slurm
  bool quiet = false;
  bool trace = false;
  bool perf = false;  // print packets per second and peak memory of each point
};

// Exit status: 0 when every check holds (or others are still running), 1 when one fails, 2 when a point failed to run.
int launch(const ScenarioFile& file, const LaunchOptions& options);

}  // namespace mrc::sim
