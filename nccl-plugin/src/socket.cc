#include "socket.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace mrc::nccl {

namespace {

Io after(ssize_t n) {
  if (n == 0) return Io::kClosed;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return Io::kAgain;
  return errno == ECONNRESET || errno == EPIPE ? Io::kClosed : Io::kFailed;
}

// Errors of accept about the pending connection, not about the listener: Linux passes on the network's
// errors.
bool is_of_the_connection(int error) {
  switch (error) {
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case EPERM:  // by a rule of a firewall
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
      return true;
    default:
      return false;
  }
}

void without_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Result<SocketAddress> Socket::listen_at(SocketAddress address) {
  fd_ = Fd(socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  socklen_t size = address.size();
  if (!fd_ || bind(fd_.get(), &address.any, size) != 0 || ::listen(fd_.get(), 1024) != 0 ||
      getsockname(fd_.get(), &address.any, &size) != 0)
    return failed_call("Listening on " + address.text());
  return address;
}

bool Socket::start_connect(const SocketAddress& to) {
  close();
  fd_ = Fd(socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd_) return false;
  without_delay(fd_.get());
  return connect(fd_.get(), &to.any, to.size()) == 0 || errno == EINPROGRESS;
}

Io Socket::finish_connect() {
  pollfd p{fd_.get(), POLLOUT, 0};
  if (poll(&p, 1, 0) <= 0) return Io::kAgain;  // also when a signal came
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return Io::kFailed;
  errno = error;
  return error == 0 ? Io::kDone : Io::kFailed;
}

Io Socket::accept_from(Socket* out, SocketAddress* from) {
  *from = {};
  socklen_t size = sizeof *from;
  Fd fd(accept4(fd_.get(), &from->any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!fd) {
    const bool none = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return none || is_of_the_connection(errno) ? Io::kAgain : Io::kFailed;
  }
  without_delay(fd.get());
  *out = Socket(std::move(fd));
  return Io::kDone;
}

Io Socket::send_all(const void* data, size_t size, size_t* done) {
  while (*done < size) {
    const ssize_t n = send(fd_.get(), static_cast<const char*>(data) + *done, size - *done, MSG_NOSIGNAL);
    if (n <= 0) return after(n);
    *done += static_cast<size_t>(n);
  }
  return Io::kDone;
}

Io Socket::receive_all(void* data, size_t size, size_t* done) {
  while (*done < size) {
    const ssize_t n = recv(fd_.get(), static_cast<char*>(data) + *done, size - *done, 0);
    if (n <= 0) return after(n);
    *done += static_cast<size_t>(n);
  }
  return Io::kDone;
}

Io Socket::look() const {
  char byte;
  const ssize_t n = recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n > 0 ? Io::kAgain : after(n);
}

}  // namespace mrc::nccl
