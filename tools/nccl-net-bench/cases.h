// The conformance cases: each is one rule of the interface, run in processes of its own.
#pragma once

#include <string>
#include <vector>

#include "rank.h"

namespace mrc::net_bench {

struct Case {
  const char* name;
  const char* rule;  // what a plugin must do, in one line
  int ranks;
  std::vector<int> doomed;  // ranks that kill themselves
  // Runs on every rank. Throws Fail when the rule is broken; returns why it does not apply, or nothing.
  std::string (*run)(Rank& rank);
};

const std::vector<Case>& all_cases();
std::vector<std::string> case_names();
const Case* find_case(const std::string& name);

// The groups, one file each.
std::vector<Case> setup_cases();
std::vector<Case> data_cases();
std::vector<Case> group_cases();
std::vector<Case> close_cases();
std::vector<Case> death_cases();

}  // namespace mrc::net_bench
