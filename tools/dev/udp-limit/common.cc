#include "common.h"

#include <arpa/inet.h>
#include <netinet/udp.h>

#include <cerrno>
#include <cstring>

namespace udp_limit {

void fail(const std::string& what) {
  mrc::tools::fail_program("mrc-udp-limit", what);
}

Address make_address(const std::string& text, uint16_t port, socklen_t* length) {
  Address a;
  std::memset(&a, 0, sizeof(a));
  if (inet_pton(AF_INET, text.c_str(), &a.v4.sin_addr) == 1) {
    a.v4.sin_family = AF_INET;
    a.v4.sin_port = htons(port);
    *length = sizeof(a.v4);
    return a;
  }
  if (inet_pton(AF_INET6, text.c_str(), &a.v6.sin6_addr) == 1) {
    a.v6.sin6_family = AF_INET6;
    a.v6.sin6_port = htons(port);
    *length = sizeof(a.v6);
    return a;
  }
  errno = 0;
  fail("not an address: " + text);
}

const std::string& address_of_plane(const Options& options, uint32_t plane) {
  return options.addresses[options.addresses.size() == 1 ? 0 : plane];
}

namespace {

// The receiving calls poll the queue of the network card in the process's own context. Once each: they do not wait, and
// the time is how long one that waits polls. So it must only not be 0.
void poll_busily(int fd) {
  const int time_us = 1, on = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &time_us, sizeof(time_us)) != 0) fail("SO_BUSY_POLL");
  if (::setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &on, sizeof(on)) != 0) fail("SO_PREFER_BUSY_POLL");
}

}  // namespace

mrc::Fd open_socket(const Options& options, int family, bool receive) {
  mrc::Fd opened(::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
  if (!opened) fail("socket");
  const int fd = opened.get();
  int bytes = 8 << 20;
  if (::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0)
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) != 0)
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
  int on = 1;
  if (receive && ::setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) != 0) fail("UDP_GRO");
  if (receive && options.busy_poll) poll_busily(fd);
  return opened;
}

}  // namespace udp_limit
