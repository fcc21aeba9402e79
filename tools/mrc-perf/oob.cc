#include "oob.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "error.h"

namespace mrc::perf {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMaxMessage = 64U << 20;
constexpr auto kQuiet = std::chrono::seconds(1);          // until it says that it waits for the server
constexpr auto kMinTry = std::chrono::milliseconds(100);  // for one connect, with --wait 0 too

[[noreturn]] void throw_not_mrc_perf() {
  throw PerfError("what is at the other end of the TCP connection is not mrc-perf",
                  "choose another --port on both sides");
}

// None and errno on failure.
Fd listen_on(int family, uint16_t port) {
  Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  const int on = 1, off = 0;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage storage{};
  socklen_t length = 0;
  if (family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    auto* a = reinterpret_cast<sockaddr_in6*>(&storage);
    a->sin6_family = AF_INET6;
    a->sin6_port = htons(port);
    length = sizeof *a;
  } else {
    auto* a = reinterpret_cast<sockaddr_in*>(&storage);
    a->sin_family = AF_INET;
    a->sin_port = htons(port);
    length = sizeof *a;
  }
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0 && listen(fd.get(), 8) == 0) return fd;
  const int error = errno;
  fd = Fd();
  errno = error;
  return fd;
}

// Connects within this time: if the first packet is dropped, a blocking connect would take minutes. The socket
// blocks again afterwards. None and errno on failure.
Fd connect_within(const addrinfo& to, Clock::duration limit) {
  Fd fd(socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  int error = connect(fd.get(), to.ai_addr, to.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd p{fd.get(), POLLOUT, 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
    socklen_t length = sizeof error;
    error = ETIMEDOUT;
    if (poll(&p, 1, static_cast<int>(std::min<int64_t>(ms, INT32_MAX))) == 1)
      getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error == 0 && fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK) == 0) return fd;
  fd = Fd();
  errno = error;
  return fd;
}

}  // namespace

Listener::Listener(uint16_t port) {
  fd_ = listen_on(AF_INET6, port);
  if (!fd_ && errno != EADDRINUSE) fd_ = listen_on(AF_INET, port);
  if (!fd_)
    throw PerfError("cannot listen on TCP port " + std::to_string(port) + ": " + std::strerror(errno),
                    "another mrc-perf may be waiting there; choose another --port on both sides");
}

Fd Listener::accept_one() {
  for (;;) {
    if (Fd fd = try_accept(-1)) return fd;
  }
}

Fd Listener::accept_one(double limit_s) {
  const auto until = Clock::now() + std::chrono::duration<double>(limit_s);
  for (;;) {
    const double left_ms = std::chrono::duration<double, std::milli>(until - Clock::now()).count();
    if (left_ms <= 0)
      throw PerfError("the client did not open a connection for each thread",
                      "look at the output of the other mrc-perf");
    if (Fd fd = try_accept(static_cast<int>(left_ms) + 1)) return fd;
  }
}

// A connection may be gone again when it is to be accepted: the socket does not block, so that the limit holds.
Fd Listener::try_accept(int limit_ms) {
  pollfd wait = {fd_.get(), POLLIN, 0};
  if (poll(&wait, 1, limit_ms) < 1) return Fd();
  Fd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd && errno != EINTR && errno != ECONNABORTED && errno != EAGAIN)
    throw PerfError(std::string("accept: ") + std::strerror(errno), "start the server again");
  return fd;
}

Oob::Oob(Fd fd) : fd_(std::move(fd)) {
  const int on = 1;
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A host that vanishes closes nothing: without these a side that only receives would wait for it for ever.
  const int idle = 5, interval = 5, count = 4, unacknowledged_ms = 25000;
  setsockopt(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

Fd Oob::connect_to(const std::string& host, uint16_t port, double wait_s) {
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait_s));
  auto quiet_until = Clock::now() + kQuiet;
  std::string reason;
  do {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    const int rc = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (rc == EAI_NONAME || rc == EAI_FAMILY)
      throw PerfError("host name '" + host + "': " + gai_strerror(rc), "check the spelling, or give an address");
    if (rc != 0) reason = gai_strerror(rc);
    int addresses = 0;
    for (addrinfo* a = found; a != nullptr; a = a->ai_next) ++addresses;
    for (addrinfo* a = found; a != nullptr; a = a->ai_next, --addresses) {
      // One that does not answer leaves the others their part of the time.
      Fd fd = connect_within(*a, std::max<Clock::duration>((until - Clock::now()) / addresses, kMinTry));
      if (fd) {
        freeaddrinfo(found);
        return fd;
      }
      reason = std::strerror(errno);
    }
    if (found != nullptr) freeaddrinfo(found);
    if (quiet_until < Clock::now() && Clock::now() < until) {
      std::fprintf(stderr, "mrc-perf: %s port %u does not answer yet (%s); trying for %.0f s\n", host.c_str(), port,
                   reason.c_str(), wait_s);
      quiet_until = until;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (Clock::now() < until);
  throw PerfError("cannot reach " + host + " port " + std::to_string(port) + ": " + reason,
                  "start 'mrc-perf' there first, with the same --port, and look for a firewall between");
}

void Oob::send(const nlohmann::json& message) {
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const uint32_t length = htonl(static_cast<uint32_t>(text.size()));
  std::string out(reinterpret_cast<const char*>(&length), sizeof length);
  out += text;
  for (size_t at = 0; at < out.size();) {
    const ssize_t n = ::send(fd_.get(), out.data() + at, out.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      gone_ = true;
      throw PerfError("the peer has closed the TCP connection", "look at the output of the other mrc-perf");
    }
    at += static_cast<size_t>(n);
  }
}

void Oob::fill(bool block, double limit_s) {
  if (gone_) return;
  pollfd p{fd_.get(), POLLIN, 0};
  if (poll(&p, 1, block ? static_cast<int>(limit_s * 1000) + 1 : 0) <= 0) return;
  char buffer[65536];
  const ssize_t n = recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (n > 0)
    in_.append(buffer, static_cast<size_t>(n));
  else if (n == 0 || (errno != EAGAIN && errno != EINTR))
    gone_ = true;
}

std::optional<nlohmann::json> Oob::take() {
  uint32_t length = 0;
  if (in_.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, in_.data(), sizeof length);
  length = ntohl(length);
  if (length > kMaxMessage) throw_not_mrc_perf();
  if (in_.size() < sizeof length + length) return std::nullopt;
  nlohmann::json message =
      nlohmann::json::parse(in_.begin() + sizeof length, in_.begin() + sizeof length + length, nullptr, false);
  in_.erase(0, sizeof length + length);
  if (!message.is_object()) throw_not_mrc_perf();
  if (const auto error = message.find("error"); error != message.end())
    throw PerfError("the other side failed: " + (error->is_string() ? error->get<std::string>() : error->dump()),
                    "look at the output of the other mrc-perf");
  return message;
}

void Oob::look() {
  fill(false, 0);
  const std::string kept = in_;
  if (take()) in_ = kept;
}

std::optional<nlohmann::json> Oob::try_receive() {
  if (auto message = take()) return message;
  fill(false, 0);
  return take();
}

nlohmann::json Oob::receive(double limit_s) {
  const auto until = Clock::now() + std::chrono::duration<double>(limit_s);
  for (;;) {
    if (auto message = take()) return *std::move(message);
    if (gone_) throw PerfError("the peer has closed the TCP connection", "look at the output of the other mrc-perf");
    const double left = std::chrono::duration<double>(until - Clock::now()).count();
    if (left <= 0)
      throw PerfError("the peer has been silent for " + std::to_string(static_cast<int>(limit_s)) + " s",
                      "look at the output of the other mrc-perf, and start both again");
    fill(true, left);
  }
}

void Oob::barrier(const std::string& word) {
  send({{"barrier", word}});
  const nlohmann::json answer = receive(60);
  if (answer.value("barrier", std::string()) != word)
    throw PerfError("the two sides disagree about what comes next", "use the same version of mrc-perf on both sides");
}

}  // namespace mrc::perf
