// Whether a call that waits in poll(2) ends after a signal. poll() returns EINTR after every handler; programs expect
// of a call that waits for events what read(2) does, which the kernel restarts after handlers with SA_RESTART
// (profilers, timers, SIGCHLD).
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>

namespace mrc::environment {

// One without SA_RESTART is installed, and not blocked in this thread. Signals of a thread's own instruction are left
// out: their handlers are installed to report crashes.
inline bool any_handler_interrupts() {
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal < _NSIG; ++signal) {
    if (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE || signal == SIGTRAP ||
        signal == SIGSYS)
      continue;
    struct sigaction action;
    if (::sigismember(&blocked, signal) == 1 || ::sigaction(signal, nullptr, &action) != 0) continue;
    const bool handled =
        (action.sa_flags & SA_SIGINFO) != 0 || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
    if (handled && (action.sa_flags & SA_RESTART) == 0) return true;
  }
  return false;
}

// True if a wait that failed with this error, which is left in errno, returns it. After EINTR it is unknown which
// handler ran: true if it may have been one without SA_RESTART.
inline bool ends_wait(int error) {
  if (error != EINTR) return true;
  const bool may = any_handler_interrupts();
  errno = error;  // the C library refuses to describe two signals that it uses itself
  return may;
}

}  // namespace mrc::environment
