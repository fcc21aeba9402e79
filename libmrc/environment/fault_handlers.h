// The handlers of SIGSEGV and SIGBUS. A fault of a guarded copy, in memory that it names, ends the copy. All others,
// and signals that were sent, belong to the handler that was found at installation, which is called as the kernel would
// have called it. So does the first fault in memory that is protected: if that handler returns, the copy goes on, and
// ends where the same address faults again.
//
// A program that installs its own handler afterwards has it called for all faults, until the next call of
// install_fault_handlers(). That puts another handler of ours before the program's, with a place of its own for the one
// that it has found: a handler of the program that calls the one before it, ours, ends there and not in a loop. A
// program that installs the same handler again after ours has a loop all the same: where a fault comes round to one of
// our handlers, the process ends by it.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "memory_guard.h"
#include "mutex.h"

namespace mrc::environment {

namespace faults {

using Action = struct sigaction;
using Handler = void (*)(int, siginfo_t*, void*);
inline constexpr std::array<int, 2> kSignals = {SIGSEGV, SIGBUS};
inline constexpr size_t kPlaces = 16;  // different handlers of the program before which ours can be put

// The handlers found at installation, by signal and place.
inline std::array<std::array<Action, kPlaces>, kSignals.size()> found_before;
inline std::array<size_t, kSignals.size()> used_places;
inline Mutex installing;

inline bool covers(const MemoryGuard& guard, uint64_t address) {
  constexpr uint64_t kPage = 4096;  // an error of the hardware is reported for a page
  for (int i = 0; i < guard.count; ++i) {
    const auto start = reinterpret_cast<uint64_t>(guard.pieces[i].iov_base);
    if (address >= (start & ~(kPage - 1)) && address < start + guard.pieces[i].iov_len) return true;
  }
  return false;
}

// By the context that the kernel restores when the handler returns: with it come the signal mask, the stack and the
// processor's modes of the interrupted code.
inline void continue_at(MemoryGuard* guard, void* context) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_handle_no_return();  // the frames of the copy do not return: their marks on the stack go
#endif
#if defined(__x86_64__)
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RBP] = reinterpret_cast<greg_t>(guard->resume[0]);
  registers[REG_RIP] = reinterpret_cast<greg_t>(guard->resume[1]);
  registers[REG_RSP] = reinterpret_cast<greg_t>(guard->resume[2]);
#else
  (void)context;
  __builtin_longjmp(guard->resume, 1);
#endif
}

// What the kernel does without a handler. A fault repeats when the handler returns; a signal that was sent is sent
// again.
inline void act_by_default(int signal, const siginfo_t* info) {
  Action plain = {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, nullptr);
  if (info->si_code > 0) return;
  siginfo_t again = *info;
  ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::syscall(SYS_gettid), signal, &again);
}

inline bool has_function(const Action& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

inline void pass_on(const Action& to, int signal, siginfo_t* info, void* context) {
  if (!has_function(to)) {  // a fault cannot be ignored
    if (to.sa_handler == SIG_DFL || info->si_code > 0) act_by_default(signal, info);
    return;
  }
  if ((static_cast<unsigned>(to.sa_flags) & SA_RESETHAND) != 0) {
    Action plain = {};
    plain.sa_handler = SIG_DFL;
    ::sigaction(signal, &plain, nullptr);
  }
  sigset_t blocked = to.sa_mask;
  if ((to.sa_flags & SA_NODEFER) == 0) ::sigaddset(&blocked, signal);
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  if ((to.sa_flags & SA_SIGINFO) != 0) {
    to.sa_sigaction(signal, info, context);
  } else {
    to.sa_handler(signal);
  }
}

// The fault that a handler of ours has passed on last, by its place: one that comes back to it deeper in the stack went
// round. The frame tells it from the next fault, which may have its information at the same address where the program's
// handler has jumped out.
struct Passed {
  const siginfo_t* info;
  const void* frame;
};
inline __thread Passed passed_on[kSignals.size()][kPlaces] __attribute__((tls_model("initial-exec")));

inline bool is_repeated(const Passed& last, const siginfo_t* info, const void* frame) {
  return last.info == info && reinterpret_cast<uintptr_t>(frame) < reinterpret_cast<uintptr_t>(last.frame);
}

// A program that protects its memory and has a handler makes it accessible again there, to follow writes for example.
inline bool may_repair(const Action& before, int signal, const siginfo_t& info) {
  return signal == SIGSEGV && info.si_code == SEGV_ACCERR && has_function(before);
}

template <size_t kIndex, size_t kPlace>
void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  MemoryGuard* const guard = current_guard;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const Action& before = found_before[kIndex][kPlace];
  Passed& passed = passed_on[kIndex][kPlace];
  const void* const frame = __builtin_frame_address(0);
  if (is_repeated(passed, info, frame)) {
    act_by_default(signal, info);
  } else if (guard == nullptr || info->si_code <= 0 || !covers(*guard, address)) {
    passed = {info, frame};
    pass_on(before, signal, info, context);
    passed = {nullptr, nullptr};
  } else if (may_repair(before, signal, *info) && guard->fault != address) {
    guard->fault = address;  // a second time: it was not repaired
    pass_on(before, signal, info, context);
  } else {
    guard->fault = address;
    continue_at(guard, context);
  }
  errno = saved;
}

template <size_t kIndex, size_t... kPlace>
constexpr std::array<Handler, kPlaces> handlers_of(std::index_sequence<kPlace...>) {
  return {&on_fault<kIndex, kPlace>...};
}
inline constexpr std::array<std::array<Handler, kPlaces>, kSignals.size()> kHandlers = {
    handlers_of<0>(std::make_index_sequence<kPlaces>()), handlers_of<1>(std::make_index_sequence<kPlaces>())};

inline bool is_ours(size_t index, const Action& action) {
  if ((action.sa_flags & SA_SIGINFO) == 0) return false;
  for (const Handler handler : kHandlers[index])
    if (action.sa_sigaction == handler) return true;
  return false;
}

inline bool same(const Action& a, const Action& b) {
  for (int signal = 1; signal < _NSIG; ++signal)
    if (::sigismember(&a.sa_mask, signal) != ::sigismember(&b.sa_mask, signal)) return false;
  return a.sa_flags == b.sa_flags && a.sa_handler == b.sa_handler;
}

inline bool install(size_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(installing) {
  Action found;
  if (::sigaction(kSignals[index], nullptr, &found) != 0 || is_ours(index, found)) return true;
  std::array<Action, kPlaces>& before = found_before[index];
  size_t& used = used_places[index];
  size_t place = 0;
  while (place < used && !same(before[place], found)) ++place;
  if (place == kPlaces) return false;
  if (place == used) before[used++] = found;
  // On the stack that the handler before it expects, and system calls continue as after that one.
  Action ours = {};
  ours.sa_sigaction = kHandlers[index][place];
  ours.sa_flags = SA_SIGINFO | SA_NODEFER;
  ours.sa_flags |= has_function(found) ? found.sa_flags & (SA_ONSTACK | SA_RESTART) : SA_ONSTACK;
  return ::sigaction(kSignals[index], &ours, nullptr) == 0;
}

}  // namespace faults

// Installs the handlers, or puts them before a handler that the program has installed since. Two system calls when
// nothing has changed. False: the program has installed too many different ones, and its last one remains. Any thread;
// one that finds another installing them leaves it to that one, which a child of fork may not have.
inline bool install_fault_handlers() {
  if (!faults::installing.try_lock()) return true;
  const MutexLock lock(faults::installing, std::adopt_lock);
  bool all = true;
  for (size_t i = 0; i < faults::kSignals.size(); ++i) all &= faults::install(i);
  return all;
}

}  // namespace mrc::environment
