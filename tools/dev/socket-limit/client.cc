// Sending side, and the side that pings; prints the result.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "slices.h"
#include "sockets.h"

namespace socket_limit {

namespace {

using nlohmann::json;

class Client {
 public:
  explicit Client(const Options& o) : o_(o), control_(connect_to(o)), at_(o.streams), memory_(o.size) {
    control_.send({{"streams", o.streams}, {"size", o.size}, {"latency", o.latency}});
    for (uint32_t i = 0; i < o.streams; ++i) streams_.push_back(connect_to(o));
    if (o.streams > 1) watch();
    next_answer();
  }

  // An answer in the form of tools/lib/slices.h.
  json slice(double seconds) {
    control_.send({{"start", true}});
    next_answer();
    const double cpu = cpu_seconds();
    const uint64_t begin = now_ns(), end = begin + static_cast<uint64_t>(seconds * 1e9);
    sent_ = 0;
    json line;
    // TCP may join messages, but not hold the last one back.
    for (const Socket& s : streams_) set_no_delay(s, o_.latency);
    if (o_.latency)
      line["latency"] = ping(end);
    else if (o_.streams == 1)
      send_blocking(end);
    else
      send_several(end);
    for (const Socket& s : streams_) set_no_delay(s, true);
    const double client_cpu = cpu_seconds() - cpu;
    control_.send({{"sent", sent_}});
    const json theirs = next_answer();
    line["cpu_s"] = {{"client", client_cpu}, {"server", theirs.at("cpu_s")}};
    line["seconds"] = mrc::tools::transfer_seconds(begin, theirs.at("first_ns"), theirs.at("last_ns"));
    if (o_.latency) return line;
    line["bytes"] = theirs.at("bytes");
    line["messages"] = theirs.at("bytes").get<double>() / static_cast<double>(o_.size);
    return line;
  }

 private:
  json next_answer() {
    json message = control_.receive();
    errno = 0;
    if (control_.closed()) fail("the server has closed the connection");
    return message;
  }

  void watch() {
    epoll_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
    for (const Socket& s : streams_) {
      epoll_event event{};
      event.events = EPOLLOUT | EPOLLET;
      ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, s.fd(), &event);
    }
  }

  void send_blocking(uint64_t end) {
    do send_part(0, 0);
    while (now_ns() < end);
  }

  // Messages of all streams in turn. A message that does not fit is completed before the next one of its stream.
  void send_several(uint64_t end) {
    while (sent_ == 0 || now_ns() < end) {
      bool any = false;
      for (size_t i = 0; i < streams_.size(); ++i) any |= send_part(i, MSG_DONTWAIT);
      if (any) continue;
      epoll_event events[kMaxStreams];
      ::epoll_wait(epoll_.fd(), events, kMaxStreams, kIdleMs);
    }
  }

  bool send_part(size_t stream, int flags) {
    uint64_t& at = at_[stream];
    const ssize_t n = ::send(streams_[stream].fd(), memory_.data() + at, o_.size - at, MSG_NOSIGNAL | flags);
    if (n < 0 && errno != EAGAIN && errno != EINTR) fail("send");
    if (n <= 0) return false;
    at += static_cast<uint64_t>(n);
    if (at == o_.size) at = 0;
    sent_ += static_cast<uint64_t>(n);
    return true;
  }

  json ping(uint64_t end) {
    std::vector<uint32_t> half;
    half.reserve(1U << 20);
    char two[2] = {};
    const auto goes_on = [&](uint64_t now) { return half.empty() || (now < end && half.size() < half.capacity()); };
    for (uint64_t start = now_ns(); goes_on(start); start = now_ns()) {
      if (::send(streams_[0].fd(), two, sizeof two, MSG_NOSIGNAL) != sizeof two) fail("send");
      sent_ += sizeof two;
      ssize_t n;
      while ((n = ::recv(streams_[0].fd(), two, sizeof two, MSG_DONTWAIT)) < 0 && errno == EAGAIN) {
      }
      if (n != sizeof two) fail("the server has closed the connection");
      half.push_back(static_cast<uint32_t>((now_ns() - start) / 2));
    }
    half.erase(half.begin(), half.begin() + static_cast<int64_t>(half.size() / 20));  // warming up
    std::sort(half.begin(), half.end());
    auto at = [&](double p) {
      return half.empty() ? 0 : half[static_cast<size_t>(p * static_cast<double>(half.size() - 1))] * 1e-3;
    };
    return {{"p50_us", at(0.5)}, {"p99_us", at(0.99)}, {"p999_us", at(0.999)}, {"samples", half.size()}};
  }

  const Options& o_;
  Control control_;
  std::vector<Socket> streams_;
  Socket epoll_;
  std::vector<uint64_t> at_;  // sent of each stream's present message
  Buffer memory_;             // one message
  uint64_t sent_ = 0;
};

}  // namespace

int run_client(const Options& o) {
  Client client(o);
  if (!o.slices) {
    mrc::tools::print_slice(client.slice(o.seconds).dump());
    return 0;
  }
  const mrc::Status ended =
      mrc::tools::serve_slices([&](double seconds) { mrc::tools::print_slice(client.slice(seconds).dump()); });
  errno = 0;
  if (!ended) fail(ended.error().text);
  return 0;
}

}  // namespace socket_limit
