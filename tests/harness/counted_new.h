// operator new under control: counts allocations inside armed scopes and lets chosen ones fail. The failures are a bit
// mask: bit i of `mask` makes the (first + i)-th armed allocation throw. One thread may be armed at a time; what others
// ask for neither counts nor fails.
#pragma once

#include <cstdint>

namespace mrc::alloc {

// Forgets the counts; from here on, allocations inside Armed scopes fail according to the mask.
void set_failures(uint64_t mask, uint64_t first);
uint64_t armed_allocations();  // inside Armed scopes since set_failures, failed ones included
uint64_t failed_allocations();
int64_t live_blocks();  // of the whole process

// Only what the code under test asks for counts, not what the test does around it.
class Armed {
 public:
  Armed();
  ~Armed();
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;
};

// Sinks are called from inside the engine: the test's own bookkeeping there is not armed.
class Disarmed {
 public:
  Disarmed();
  ~Disarmed();
  Disarmed(const Disarmed&) = delete;
  Disarmed& operator=(const Disarmed&) = delete;

 private:
  int depth_;
};

}  // namespace mrc::alloc
