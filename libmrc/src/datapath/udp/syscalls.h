// The system calls that the UDP driver makes while it runs or opens, as a table, so that tests make the n-th one fail.
#pragma once

#include <sys/socket.h>
#include <time.h>

namespace mrc::datapath {

struct UdpSyscalls {
  int (*socket)(int domain, int type, int protocol);
  int (*bind)(int fd, const sockaddr* addr, socklen_t length);
  int (*setsockopt)(int fd, int level, int name, const void* value, socklen_t length);
  int (*connect)(int fd, const sockaddr* addr, socklen_t length);
  ssize_t (*sendmsg)(int fd, const msghdr* msg, int flags);
  int (*sendmmsg)(int fd, mmsghdr* msgs, unsigned int count, int flags);
  ssize_t (*recvmsg)(int fd, msghdr* msg, int flags);
  int (*recvmmsg)(int fd, mmsghdr* msgs, unsigned int count, int flags, timespec* timeout);
};

const UdpSyscalls& kernel_syscalls();

}  // namespace mrc::datapath
