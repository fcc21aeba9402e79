#include "rig/cases.h"

namespace mrc::nccl_rig {

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto part : {life_cases(), failure_cases()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const Case* find_case(const std::string& name) {
  for (const auto part : {life_cases(), failure_cases()})
    for (const Case& c : part)
      if (name == c.name) return &c;
  return nullptr;
}

}  // namespace mrc::nccl_rig
