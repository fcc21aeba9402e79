// Invariants: conditions on an object after every public call. With the CMake option MRC_CHECK_INVARIANTS, which is
// on in builds for development, sanitizers and fuzzers, objects of all layers check themselves and a violation aborts
// with its text; a release contains none of it. A condition never depends on what a peer sends or writes into shared
// memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "check_invariants.h"  // generated: defines MRC_CHECK_INVARIANTS or not

namespace mrc {

#ifdef MRC_CHECK_INVARIANTS
inline constexpr bool kCheckInvariants = true;
#else
inline constexpr bool kCheckInvariants = false;
#endif

[[noreturn]] inline void invariant_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: invariant violated: %s\n", file, line, condition);
  std::abort();
}

// For checks that take long: true when the cost is `few` or less, else for one call in 64, or for fewer if `few` would
// be exceeded on average. A program that is slowed down by more than that runs into its own timeouts.
class InvariantPace {
 public:
  bool due(uint64_t cost, uint64_t few = 16) {
    if (cost <= few) return true;
    if (++calls_ < std::max<uint64_t>(64, cost / few)) return false;
    calls_ = 0;
    return true;
  }

 private:
  uint32_t calls_ = 0;
};

// Checks an object at the end of a public call of it, by whatever way that is left. An allocation that failed leaves
// the invariants intact, too.
template <typename Object>
class Checked {
 public:
  explicit Checked(Object* object) : object_(*object) {}
  ~Checked() {
    if constexpr (kCheckInvariants) object_.check();
  }
  Checked(const Checked&) = delete;
  Checked& operator=(const Checked&) = delete;

 private:
  Object& object_;
};

}  // namespace mrc

// In check() functions. The condition is not evaluated where invariants are not checked.
#define MRC_INVARIANT(condition)                                                 \
  do {                                                                           \
    if constexpr (::mrc::kCheckInvariants) {                                     \
      if (!(condition)) ::mrc::invariant_failed(#condition, __FILE__, __LINE__); \
    }                                                                            \
  } while (false)
