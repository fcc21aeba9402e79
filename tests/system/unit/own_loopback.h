// A network namespace of the test's own, in which loopback alone exists and is down at first: a link that may be taken
// away.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

namespace mrc {

// Runs on a thread that has the namespace. Without the rights for one the test is skipped: no real links may be taken
// down for a test.
inline void with_own_loopback(const std::function<void()>& work) {
  int refusal = 0;
  std::thread thread([&] {
    if (::unshare(CLONE_NEWNET) == 0)
      work();
    else
      refusal = errno;
  });
  thread.join();
  if (refusal != 0) GTEST_SKIP() << "a network namespace needs root: " << std::strerror(refusal);
}

inline bool set_loopback(bool up) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = up ? IFF_UP : 0;
  const bool done = fd >= 0 && ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return done;
}

// A further IPv4 address of loopback.
inline bool add_loopback_address(const char* address) {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo:1");
  sockaddr_in to{};
  to.sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &to.sin_addr);
  std::memcpy(&request.ifr_addr, &to, sizeof to);
  const bool done = fd >= 0 && ::ioctl(fd, SIOCSIFADDR, &request) == 0;
  ::close(fd);
  return done;
}

}  // namespace mrc
