// Copies from and to registered memory that may have been unmapped, truncated or protected since its registration. A
// NIC has the pages pinned; software reads and writes by address, and gets SIGSEGV or SIGBUS. guarded() runs a copy and
// reports that a piece of memory which it names could not be accessed. [API-MEM-2]
//
// A guarded copy costs a dozen stores: the place to continue at is saved in the thread, and a handler of both signals
// continues there (fault_handlers.h). Copies are bound by their stores, too, so each one counts. Without the handlers a
// copy is what it is without a guard.
//
// Alternatives: process_vm_readv() reports such memory without a signal, for a system call per copy. Probing each page
// before it is copied costs a cache miss, and another thread may unmap the page in between. One guard for four packets
// of a burst was no faster: what the sender must keep of each until then costs what three guards do.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <optional>

namespace mrc::environment {

struct MemoryGuard {
  void* resume[5];  // of __builtin_setjmp
  const iovec* pieces;
  int count;
  MemoryGuard* outer;  // of the copy that a signal handler of the program has interrupted
  uint64_t fault;      // the last address that could not be accessed; 0: none yet
};

// The guard of this thread's copy. In this model reading it is one load and allocates nothing, also in a handler.
inline __thread MemoryGuard* current_guard __attribute__((tls_model("initial-exec"))) = nullptr;

inline constexpr uint64_t kNoFault = UINT64_MAX;

// A function of its own: beside __builtin_setjmp() the compiler keeps variables in memory, and small copies took twice
// as long.
template <typename Copy>
[[gnu::noinline]] void run_copy(Copy copy) {
  copy();
}

// The address of the fault, or kNoFault. An optional would be put together in memory here, by a store of one byte and
// a load of eight, for which the processor waits: 4 of 9 ns.
template <typename Copy>
[[gnu::noinline]] uint64_t run_guarded(const iovec* pieces, int count, Copy copy) {
  MemoryGuard guard;
  guard.pieces = pieces;
  guard.count = count;
  guard.outer = current_guard;
  guard.fault = 0;
  if (__builtin_setjmp(guard.resume) == 0) {
    current_guard = &guard;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    run_copy(copy);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    current_guard = guard.outer;
    return kNoFault;
  }
  MemoryGuard* const failed = current_guard;  // local variables are not known here
  current_guard = failed->outer;
  return failed->fault;
}

// Runs `copy`, which must not own anything, and which two registers should hold: two values or references. None: it is
// done. Else an address within `pieces` that could not be accessed, and what `copy` did before remains.
template <typename Copy>
std::optional<uint64_t> guarded(const iovec* pieces, int count, Copy copy) {
  const uint64_t fault = run_guarded(pieces, count, copy);
  if (__builtin_expect(fault == kNoFault, 1)) return std::nullopt;
  return fault;
}

}  // namespace mrc::environment
