#include "rig/cases.h"

#include "rig/bench.h"
#include "rig/rank.h"

namespace mrc::nccl_rig {

namespace {

void must_be_right(size_t wrong, const char* when) {
  if (wrong != 0) throw std::runtime_error(std::to_string(wrong) + " wrong elements " + when);
}

// Two at a time, collectives on both by turns.
int several(const Process& p) {
  std::vector<Gpu> first = make_gpus(p), second = make_gpus(p);
  for (unsigned i = 0; i < 4; ++i) {
    must_be_right(check_once(p, &first, "all_reduce", 300000, kFloat32, kSum, i), "on the first");
    must_be_right(check_once(p, &second, "all_gather", 100000, kFloat32, kSum, i), "on the second");
  }
  free_gpus(p, &first);
  must_be_right(check_once(p, &second, "alltoall", 300000, kFloat32, kSum, 9), "on the second after the first had gone");
  free_gpus(p, &second);
  return 0;
}

constexpr Case kCases[] = {
    {"several", "two communicators at a time", several},
};

}  // namespace

std::span<const Case> all_cases() { return kCases; }

const Case* find_case(const std::string& name) {
  for (const Case& c : kCases)
    if (name == c.name) return &c;
  return nullptr;
}

}  // namespace mrc::nccl_rig
