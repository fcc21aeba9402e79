#include "sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace socket_limit {

namespace {

constexpr uint64_t kConnectNs = 60000000000;
constexpr size_t kMaxLine = 4096;

struct Resolved {
  addrinfo* list = nullptr;
  ~Resolved() {
    if (list != nullptr) ::freeaddrinfo(list);
  }
};

void resolve(const Options& o, Resolved* to) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  errno = 0;
  if (::getaddrinfo(o.address.c_str(), std::to_string(o.port).c_str(), &hints, &to->list) != 0)
    fail("not an address: " + o.address);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Buffer::Buffer(uint64_t bytes) {
  constexpr uint64_t kHugePage = 2 << 20;
  bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  data_ = static_cast<char*>(std::aligned_alloc(kHugePage, bytes));
  if (data_ == nullptr) fail("memory");
  ::madvise(data_, bytes, MADV_HUGEPAGE);
  std::memset(data_, 0, bytes);
}

Buffer::~Buffer() {
  std::free(data_);
}

void Control::send(const nlohmann::json& message) {
  const std::string line = message.dump() + "\n";
  if (::send(socket_.fd(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) closed_ = true;
}

std::optional<nlohmann::json> Control::take() {
  const size_t end = in_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  nlohmann::json message = nlohmann::json::parse(in_.substr(0, end), nullptr, false);
  in_.erase(0, end + 1);
  errno = 0;
  if (!message.is_object()) fail("the peer is not mrc-socket-limit");
  return message;
}

bool Control::fill(int flags) {
  char buffer[1024];
  const ssize_t n = ::recv(socket_.fd(), buffer, sizeof buffer, flags);
  if (n > 0) in_.append(buffer, static_cast<size_t>(n));
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || in_.size() > kMaxLine) closed_ = true;
  return n > 0;
}

nlohmann::json Control::receive() {
  for (;;) {
    if (auto message = take()) return *std::move(message);
    if (closed_) return {};
    fill(0);
  }
}

std::optional<nlohmann::json> Control::try_receive() {
  if (auto message = take()) return message;
  return fill(MSG_DONTWAIT) ? take() : std::nullopt;
}

Socket listen_on(const Options& o) {
  Resolved to;
  resolve(o, &to);
  Socket s(::socket(to.list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(s.fd(), to.list->ai_addr, to.list->ai_addrlen) != 0 || ::listen(s.fd(), kMaxStreams) != 0)
    fail("cannot listen on " + o.address + " port " + std::to_string(o.port));
  return s;
}

Socket accept_from(const Socket& listener) {
  for (;;) {
    const int fd = ::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) return Socket(fd);
    if (errno != EINTR && errno != ECONNABORTED) fail("accept");
  }
}

Socket connect_to(const Options& o) {
  Resolved to;
  resolve(o, &to);
  for (const uint64_t give_up = now_ns() + kConnectNs;;) {
    Socket s(::socket(to.list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(s.fd(), to.list->ai_addr, to.list->ai_addrlen) == 0) return s;
    if (now_ns() > give_up) fail("cannot connect to " + o.address + " port " + std::to_string(o.port));
    ::usleep(50000);
  }
}

void set_no_delay(const Socket& socket, bool on) {
  const int value = on ? 1 : 0;
  ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &value, sizeof value);
}

void fail(const std::string& what) {
  std::fprintf(stderr, "mrc-socket-limit: %s%s%s\n", what.c_str(), errno != 0 ? ": " : "",
               errno != 0 ? std::strerror(errno) : "");
  std::exit(2);
}

}  // namespace socket_limit
