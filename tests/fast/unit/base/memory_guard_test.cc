// Guarded copies, and the handlers of faults before and behind those of a program. [API-MEM-2]
#include "memory_guard.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "base/stream_copy.h"
#include "fault_handlers.h"
#include "harness/gone_memory.h"

namespace mrc {
namespace {

using environment::guarded;
using environment::install_fault_handlers;
using harness::GoneMemory;

std::optional<uint64_t> copy(void* to, const void* from, size_t bytes, const iovec& named) {
  return guarded(&named, 1, [&] { std::memcpy(to, from, bytes); });
}

class MemoryGuardTest : public testing::Test {
 protected:
  MemoryGuardTest() { EXPECT_TRUE(install_fault_handlers()); }
  const harness::NoFaultHandlers none_;
  std::vector<uint8_t> own_ = std::vector<uint8_t>(3 * GoneMemory::kPage, 7);
};

TEST_F(MemoryGuardTest, a_copy_of_present_memory_is_done) {
  GoneMemory memory;
  std::memset(memory.data(), 5, 2 * GoneMemory::kPage);
  EXPECT_EQ(copy(own_.data(), memory.data(), 2 * GoneMemory::kPage, memory.piece()), std::nullopt);
  EXPECT_EQ(own_[0], 5);
}

// Read and written; unmapped, truncated, protected: SIGSEGV of both kinds, and SIGBUS.
TEST_F(MemoryGuardTest, a_copy_of_memory_that_is_gone_reports_the_address) {
  for (const auto how : {GoneMemory::kUnmapped, GoneMemory::kTruncated, GoneMemory::kProtected}) {
    for (const bool write : {false, true}) {
      GoneMemory memory;
      memory.go(how);
      uint8_t* const to = write ? memory.data() : own_.data();
      const uint8_t* const from = write ? own_.data() : memory.data();
      const std::optional<uint64_t> fault = copy(to, from, 100, memory.piece());
      ASSERT_TRUE(fault.has_value()) << how;
      EXPECT_LT(*fault - memory.address(), 100u) << how;
      EXPECT_EQ(environment::current_guard, nullptr);
    }
  }
}

TEST_F(MemoryGuardTest, bytes_before_the_gone_page_are_copied) {
  GoneMemory memory;
  std::memset(memory.data(), 9, GoneMemory::kPage);
  munmap(memory.data() + GoneMemory::kPage, GoneMemory::kPage);
  const std::optional<uint64_t> fault = copy(own_.data(), memory.data(), 2 * GoneMemory::kPage, memory.piece());
  EXPECT_EQ(fault, memory.address() + GoneMemory::kPage);
}

// Stores that bypass the caches, too. Those in their place under sanitizers may go from either end.
TEST_F(MemoryGuardTest, a_streamed_copy_reports_the_gone_page) {
  GoneMemory memory;
  munmap(memory.data() + GoneMemory::kPage, GoneMemory::kPage);
  const iovec named = memory.piece();
  const std::optional<uint64_t> fault =
      guarded(&named, 1, [&] { stream_copy(memory.data() + 3, own_.data(), 2 * GoneMemory::kPage - 3); });
  ASSERT_TRUE(fault.has_value());
  EXPECT_LT(*fault - memory.address() - GoneMemory::kPage, GoneMemory::kPage);
  EXPECT_EQ(environment::current_guard, nullptr);
}

// The state of the interrupted code comes back, not that of the handler.
TEST_F(MemoryGuardTest, nothing_is_blocked_afterwards) {
  GoneMemory memory;
  memory.go(GoneMemory::kUnmapped);
  sigset_t before, after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(copy(own_.data(), memory.data(), 8, memory.piece()));
  sigprocmask(SIG_SETMASK, nullptr, &after);
  for (int s = 1; s < _NSIG; ++s) EXPECT_EQ(sigismember(&before, s), sigismember(&after, s)) << s;
}

sigjmp_buf way_out;
int calls;
void leave(int) {
  ++calls;
  siglongjmp(way_out, 1);
}
int handler_of_program(int flags = 0) {
  struct sigaction action {};
  action.sa_handler = &leave;
  action.sa_flags = flags;
  return sigaction(SIGSEGV, &action, nullptr);
}
// True: the program's handler was called for the fault of this access.
template <typename Access>
bool reaches_program(const Access& access) {
  calls = 0;
  if (sigsetjmp(way_out, 1) == 0) access();
  return calls == 1;
}

TEST_F(MemoryGuardTest, other_faults_belong_to_the_handler_before) {
  signal(SIGSEGV, SIG_DFL);
  ASSERT_EQ(handler_of_program(), 0);
  ASSERT_TRUE(install_fault_handlers());
  GoneMemory memory, other;
  memory.go(GoneMemory::kUnmapped);
  other.go(GoneMemory::kUnmapped);
  EXPECT_TRUE(reaches_program([&] { *static_cast<volatile uint8_t*>(memory.data()) = 1; }));  // outside of a copy
  EXPECT_TRUE(reaches_program([&] { copy(own_.data(), other.data(), 8, memory.piece()); }));  // memory not named
  environment::current_guard = nullptr;                                                       // the program left it
  EXPECT_TRUE(reaches_program([&] { raise(SIGSEGV); }));
  EXPECT_TRUE(copy(own_.data(), memory.data(), 8, memory.piece()));  // and ours are served
}

TEST_F(MemoryGuardTest, a_handler_installed_later_is_preceded_again) {
  GoneMemory memory;
  memory.go(GoneMemory::kUnmapped);
  for (int i = 0; i < 50; ++i) {  // places are used again
    ASSERT_EQ(handler_of_program(), 0);
    EXPECT_TRUE(reaches_program([&] { copy(own_.data(), memory.data(), 8, memory.piece()); }));
    environment::current_guard = nullptr;
    ASSERT_TRUE(install_fault_handlers());
    EXPECT_TRUE(copy(own_.data(), memory.data(), 8, memory.piece()));
    EXPECT_TRUE(reaches_program([&] { *static_cast<volatile uint8_t*>(memory.data()) = 1; }));
  }
}

struct sigaction chained_to;
void chain(int signal, siginfo_t* info, void* context) {
  chained_to.sa_sigaction(signal, info, context);
}

// A handler of the program that calls the one it found, ours, and is found by ours again.
TEST_F(MemoryGuardTest, a_handler_that_calls_ours_ends_at_the_first_one) {
  signal(SIGSEGV, SIG_DFL);
  ASSERT_EQ(handler_of_program(), 0);
  ASSERT_TRUE(install_fault_handlers());
  struct sigaction action {};
  action.sa_sigaction = &chain;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGSEGV, &action, &chained_to), 0);
  ASSERT_TRUE(install_fault_handlers());
  GoneMemory memory;
  memory.go(GoneMemory::kUnmapped);
  EXPECT_TRUE(reaches_program([&] { *static_cast<volatile uint8_t*>(memory.data()) = 1; }));
  EXPECT_TRUE(copy(own_.data(), memory.data(), 8, memory.piece()));
}

// What the kernel does for the handler's flags.
TEST_F(MemoryGuardTest, flags_of_the_handler_before_hold) {
  signal(SIGSEGV, SIG_DFL);
  struct sigaction action {};
  action.sa_flags = SA_RESETHAND;
  sigaddset(&action.sa_mask, SIGUSR2);
  static bool blocked, deferred;
  action.sa_handler = [](int) {
    sigset_t now;
    sigprocmask(SIG_SETMASK, nullptr, &now);
    blocked = sigismember(&now, SIGUSR2) == 1;
    deferred = sigismember(&now, SIGSEGV) == 1;
    siglongjmp(way_out, 1);
  };
  ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  ASSERT_TRUE(install_fault_handlers());
  if (sigsetjmp(way_out, 1) == 0) raise(SIGSEGV);
  EXPECT_TRUE(blocked);
  EXPECT_TRUE(deferred);
  struct sigaction left;
  sigaction(SIGSEGV, nullptr, &left);
  EXPECT_EQ(left.sa_handler, SIG_DFL);
}

GoneMemory* repaired;
bool repairs;
void repair(int) {
  ++calls;
  if (repairs) repaired->come_back();
}

// The program's handler may make protected memory accessible again; where it does not, the copy ends.
TEST_F(MemoryGuardTest, a_handler_that_returns_repairs_protected_memory_or_not) {
  struct sigaction action {};
  action.sa_handler = &repair;
  ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
  ASSERT_TRUE(install_fault_handlers());
  GoneMemory memory;
  repaired = &memory;
  for (const bool does : {true, false}) {
    repairs = does;
    calls = 0;
    memory.go(GoneMemory::kProtected);
    EXPECT_EQ(copy(memory.data(), own_.data(), 4096, memory.piece()).has_value(), !does);
    EXPECT_EQ(calls, 1);
  }
  memory.go(GoneMemory::kUnmapped);  // nothing that it could repair
  EXPECT_TRUE(copy(memory.data(), own_.data(), 4096, memory.piece()));
  EXPECT_EQ(calls, 1);
}

using MemoryGuardDeathTest = MemoryGuardTest;

TEST_F(MemoryGuardDeathTest, without_a_handler_the_signal_kills) {
  for (const int s : {SIGSEGV, SIGBUS}) signal(s, SIG_DFL);
  ASSERT_TRUE(install_fault_handlers());
  GoneMemory unmapped, truncated;
  unmapped.go(GoneMemory::kUnmapped);
  truncated.go(GoneMemory::kTruncated);
  EXPECT_EXIT(*static_cast<volatile uint8_t*>(unmapped.data()) = 1, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(*static_cast<volatile uint8_t*>(truncated.data()) = 1, testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(kill(getpid(), SIGSEGV), testing::KilledBySignal(SIGSEGV), "");
}

struct sigaction found_by_program;
void call_the_one_before(int signal, siginfo_t* info, void* context) {
  found_by_program.sa_sigaction(signal, info, context);
}

// The program installs the same handler before and after ours, and it calls the one that it has found: ours, which
// would call it again.
TEST_F(MemoryGuardDeathTest, a_fault_that_comes_round_kills) {
  struct sigaction program {};
  program.sa_sigaction = &call_the_one_before;
  program.sa_flags = SA_SIGINFO;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(sigaction(SIGSEGV, &program, &found_by_program), 0);
    ASSERT_TRUE(install_fault_handlers());
  }
  GoneMemory memory;
  memory.go(GoneMemory::kUnmapped);
  EXPECT_EXIT(*static_cast<volatile uint8_t*>(memory.data()) = 1, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_TRUE(copy(memory.data(), own_.data(), 100, memory.piece()));
}

// An ignored signal that was sent has no effect; an ignored fault kills.
TEST_F(MemoryGuardDeathTest, an_ignored_signal_is_ignored_as_before) {
  for (const int s : {SIGSEGV, SIGBUS}) signal(s, SIG_IGN);
  ASSERT_TRUE(install_fault_handlers());
  kill(getpid(), SIGSEGV);
  GoneMemory memory;
  memory.go(GoneMemory::kUnmapped);
  EXPECT_EXIT(*static_cast<volatile uint8_t*>(memory.data()) = 1, testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace mrc
