// Cases about the life of communicators, each run by every process of the run.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace mrc::nccl_rig {

struct Process;

struct Case {
  const char* name;
  const char* what;
  int (*run)(const Process&);  // the exit code of the process; throws as the bench does
  bool last_dies;              // the last process ends by SIGKILL
};

std::span<const Case> life_cases();
std::span<const Case> failure_cases();
std::vector<Case> all_cases();
const Case* find_case(const std::string& name);  // nullptr: none

}  // namespace mrc::nccl_rig
