// SignalsBlocked: threads made while it lives take no signal, so that the application's handlers run on its own threads
// and what it waits for by sigwait reaches it; and a write of ours on a thread of the application kills it with no
// SIGXFSZ: the write fails with EFBIG, and the signal that came with it is taken back.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>

namespace mrc::device {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    // Signals raised by a thread's own instruction stay unblocked: blocked, they kill without the application's
    // handler.
    for (int raised : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) ::sigdelset(&all, raised);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGXFSZ) == 1;
  }
  ~SignalsBlocked() {
    const int saved = errno;
    if (!was_pending_) {
      sigset_t ours;
      ::sigemptyset(&ours);
      ::sigaddset(&ours, SIGXFSZ);
      const timespec at_once{};
      while (::sigtimedwait(&ours, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = saved;
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
  bool was_pending_ = false;
};

}  // namespace mrc::device
