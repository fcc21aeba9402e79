// Connection set-up of the TCP plugin. listen, connect and accept never block: what is under way is kept in the handle
// (connect) or in the listening object (accept) until the next call. The address is MRC_TCP_NET_ADDRESS, 127.0.0.1
// by default.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "tcp_net.h"

namespace mrc::tcp_net {

namespace {

struct Handle {
  uint64_t cookie;
  sockaddr_in address;
  int fd_plus_one;  // of a connect that is under way; 0: none
};
static_assert(sizeof(Handle) <= NCCL_NET_HANDLE_MAXSIZE);

struct Pending {
  int fd;
  uint64_t cookie = 0;
  size_t bytes = 0;
};

struct Listener {
  int fd = -1;
  uint64_t cookie = 0;
  std::vector<Pending> pending;
  ~Listener() {
    for (const Pending& p : pending) ::close(p.fd);
    if (fd >= 0) ::close(fd);
  }
};

void no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

ncclResult_t listen(int, void* handle, void** comm) {
  *comm = nullptr;
  auto l = std::make_unique<Listener>();
  Handle h{};
  h.address.sin_family = AF_INET;
  const char* const address = getenv("MRC_TCP_NET_ADDRESS");
  if (inet_pton(AF_INET, address != nullptr ? address : "127.0.0.1", &h.address.sin_addr) != 1) return ncclInvalidUsage;
  if (getrandom(&l->cookie, sizeof l->cookie, 0) != sizeof l->cookie) return ncclSystemError;
  l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t length = sizeof h.address;
  if (l->fd < 0 || bind(l->fd, reinterpret_cast<sockaddr*>(&h.address), length) != 0 || ::listen(l->fd, 128) != 0 ||
      getsockname(l->fd, reinterpret_cast<sockaddr*>(&h.address), &length) != 0)
    return ncclSystemError;
  h.cookie = l->cookie;
  memset(handle, 0, NCCL_NET_HANDLE_MAXSIZE);
  memcpy(handle, &h, sizeof h);
  *comm = l.release();
  return ncclSuccess;
}

ncclResult_t connect(int, void* handle, void** comm) {
  *comm = nullptr;
  Handle h;
  memcpy(&h, handle, sizeof h);
  if (h.fd_plus_one == 0) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return ncclSystemError;
    if (::connect(fd, reinterpret_cast<sockaddr*>(&h.address), sizeof h.address) != 0 && errno != EINPROGRESS) {
      ::close(fd);
      return ncclRemoteError;
    }
    h.fd_plus_one = fd + 1;
    memcpy(handle, &h, sizeof h);
  }
  const int fd = h.fd_plus_one - 1;
  pollfd p{fd, POLLOUT, 0};
  if (poll(&p, 1, 0) == 0) return ncclSuccess;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  // Eight bytes into an empty send buffer go in whole.
  const bool good = error == 0 && send(fd, &h.cookie, sizeof h.cookie, MSG_NOSIGNAL) == sizeof h.cookie;
  h.fd_plus_one = 0;
  memcpy(handle, &h, sizeof h);
  if (!good) {
    ::close(fd);
    return ncclRemoteError;
  }
  no_delay(fd);
  auto* const c = new Comm;
  c->fd = fd;
  *comm = c;
  return ncclSuccess;
}

ncclResult_t accept(void* listen_comm, void** comm) {
  *comm = nullptr;
  Listener* const l = static_cast<Listener*>(listen_comm);
  for (int fd; (fd = accept4(l->fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) l->pending.push_back({fd});
  for (size_t i = 0; i < l->pending.size(); ++i) {
    Pending& p = l->pending[i];
    const ssize_t got = recv(p.fd, reinterpret_cast<char*>(&p.cookie) + p.bytes, sizeof p.cookie - p.bytes, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    p.bytes += got > 0 ? static_cast<size_t>(got) : 0;
    if (got > 0 && p.bytes < sizeof p.cookie) continue;
    const Pending ready = p;
    l->pending.erase(l->pending.begin() + static_cast<ptrdiff_t>(i--));
    if (ready.bytes < sizeof ready.cookie || ready.cookie != l->cookie) {  // closed again, or a foreign program
      ::close(ready.fd);
      continue;
    }
    no_delay(ready.fd);
    auto* const c = new Comm;
    c->fd = ready.fd;
    *comm = c;
    return ncclSuccess;
  }
  return ncclSuccess;
}

ncclResult_t close_listen(void* listen_comm) {
  delete static_cast<Listener*>(listen_comm);
  return ncclSuccess;
}

// A socket closed with unread bytes is reset, and what the kernel had not sent yet would be lost: the payload of sends
// that are reported done. So read what is there, and wait a bounded time until all is acknowledged.
ncclResult_t close(void* comm) {
  Comm* const c = static_cast<Comm*>(comm);
  shutdown(c->fd, SHUT_WR);
  for (int round = 0; round < 100; ++round) {
    char waste[4096];
    while (recv(c->fd, waste, sizeof waste, 0) > 0) {
    }
    int unsent = 0;
    if (ioctl(c->fd, SIOCOUTQ, &unsent) != 0 || unsent <= 1) break;  // 1: the FIN
    pollfd p{c->fd, POLLRDHUP, 0};
    poll(&p, 1, 10);
    if (p.revents & (POLLERR | POLLHUP)) break;
  }
  delete c;
  return ncclSuccess;
}

}  // namespace mrc::tcp_net
