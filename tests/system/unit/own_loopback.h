// A network namespace of the test's own, in which loopback alone exists and is down at first: a link that may be taken
// away.
#pragma once

#include <linux/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

namespace mrc {

// Runs on a thread that has the namespace. Without the rights for one there is nothing to be tested: no real links may
// be taken down for a test.
inline void with_own_loopback(const std::function<void()>& work) {
  std::thread thread([&] {
    if (::unshare(CLONE_NEWNET) == 0)
      work();
    else
      std::printf("not tested: a network namespace needs root\n");
  });
  thread.join();
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

}  // namespace mrc
