// The functions of the C library at which a thread can be cancelled, for a library that is no cancellation point where
// verbs is none: pthread_cancel() must not end a thread of the application in the middle of a call, with a lock held or
// a queue half changed. [API-THR-1]
//
// The linker replaces the library's calls of a function F by __wrap_F (--wrap; mrc_uncancelled() in
// tools/cmake/MrcTargets.cmake has the list). On the data path these are plain system calls, which are no cancellation
// points and cost nothing; the others disable cancellation meanwhile. ppoll() is not replaced: calls that wait for
// events wait in it, with nothing held, and can be cancelled there.
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "uncancelled.h"

struct pollfd;

namespace {

using mrc::environment::Uncancelled;

// Plain system calls, with the arguments of the C functions.
template <typename Result, typename... Arguments>
Result call(long number, Arguments... arguments) {
  return static_cast<Result>(::syscall(number, arguments...));
}

}  // namespace

extern "C" {

ssize_t __wrap_read(int fd, void* to, size_t n) {
  return call<ssize_t>(SYS_read, fd, to, n);
}
ssize_t __wrap_write(int fd, const void* from, size_t n) {
  return call<ssize_t>(SYS_write, fd, from, n);
}
ssize_t __wrap_preadv2(int fd, const iovec* iov, int n, off_t offset, int flags) {
  const auto at = static_cast<unsigned long>(offset);
  return call<ssize_t>(SYS_preadv2, fd, iov, static_cast<unsigned long>(n), at, 0ul, flags);
}
ssize_t __wrap_send(int fd, const void* from, size_t n, int flags) {
  return call<ssize_t>(SYS_sendto, fd, from, n, flags, nullptr, 0);
}
ssize_t __wrap_sendto(int fd, const void* from, size_t n, int flags, const sockaddr* to, socklen_t size) {
  return call<ssize_t>(SYS_sendto, fd, from, n, flags, to, size);
}
ssize_t __wrap_sendmsg(int fd, const msghdr* message, int flags) {
  return call<ssize_t>(SYS_sendmsg, fd, message, flags);
}
int __wrap_sendmmsg(int fd, mmsghdr* messages, unsigned n, int flags) {
  return call<int>(SYS_sendmmsg, fd, messages, n, flags);
}
ssize_t __wrap_recv(int fd, void* to, size_t n, int flags) {
  return call<ssize_t>(SYS_recvfrom, fd, to, n, flags, nullptr, nullptr);
}
ssize_t __wrap_recvfrom(int fd, void* to, size_t n, int flags, sockaddr* from, socklen_t* size) {
  return call<ssize_t>(SYS_recvfrom, fd, to, n, flags, from, size);
}
ssize_t __wrap_recvmsg(int fd, msghdr* message, int flags) {
  return call<ssize_t>(SYS_recvmsg, fd, message, flags);
}
int __wrap_recvmmsg(int fd, mmsghdr* messages, unsigned n, int flags, timespec* timeout) {
  return call<int>(SYS_recvmmsg, fd, messages, n, flags, timeout);
}
int __wrap_poll(pollfd* fds, unsigned long n, int timeout) {
  const timespec limit = {timeout / 1000, timeout % 1000 * 1000000L};
  return call<int>(SYS_ppoll, fds, n, timeout < 0 ? nullptr : &limit, nullptr, size_t{_NSIG / 8});
}
int __wrap_epoll_wait(int fd, epoll_event* events, int n, int timeout) {
  return call<int>(SYS_epoll_pwait, fd, events, n, timeout, nullptr, size_t{_NSIG / 8});
}
int __wrap_eventfd_read(int fd, eventfd_t* value) {
  return call<ssize_t>(SYS_read, fd, value, sizeof *value) == static_cast<ssize_t>(sizeof *value) ? 0 : -1;
}
int __wrap_eventfd_write(int fd, eventfd_t value) {
  return call<ssize_t>(SYS_write, fd, &value, sizeof value) == static_cast<ssize_t>(sizeof value) ? 0 : -1;
}
int __wrap_close(int fd) {
  return call<int>(SYS_close, fd);
}
int __wrap_connect(int fd, const sockaddr* to, socklen_t size) {
  return call<int>(SYS_connect, fd, to, size);
}
int __wrap_accept4(int fd, sockaddr* from, socklen_t* size, int flags) {
  return call<int>(SYS_accept4, fd, from, size, flags);
}
int __wrap_nanosleep(const timespec* time, timespec* left) {
  return call<int>(SYS_nanosleep, time, left);
}

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  const Uncancelled now;
  va_list more;
  va_start(more, flags);
  const int mode = (flags & 0100) != 0 ? va_arg(more, int) : 0;  // O_CREAT
  va_end(more);
  return __real_open(path, flags, mode);
}
DIR* __real_opendir(const char* path);
DIR* __wrap_opendir(const char* path) {
  const Uncancelled now;
  return __real_opendir(path);
}
int __real_sigtimedwait(const sigset_t* signals, siginfo_t* info, const timespec* timeout);
int __wrap_sigtimedwait(const sigset_t* signals, siginfo_t* info, const timespec* timeout) {
  const Uncancelled now;
  return __real_sigtimedwait(signals, info, timeout);
}
int __real_pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex);
int __wrap_pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  const Uncancelled now;
  return __real_pthread_cond_wait(condition, mutex);
}
int __real_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const timespec* until);
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const timespec* until) {
  const Uncancelled now;
  return __real_pthread_cond_clockwait(condition, mutex, clock, until);
}
int __real_pthread_join(pthread_t thread, void** result);
int __wrap_pthread_join(pthread_t thread, void** result) {
  const Uncancelled now;
  return __real_pthread_join(thread, result);
}
int __wrap_fprintf(FILE* file, const char* format, ...) {
  const Uncancelled now;
  va_list arguments;
  va_start(arguments, format);
  const int n = vfprintf(file, format, arguments);
  va_end(arguments);
  return n;
}

}  // extern "C"
