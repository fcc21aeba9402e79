// Receiving side, and the side that answers pings. Sleeps between slices.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "sockets.h"

namespace socket_limit {

namespace {

class Session {
 public:
  Session(Control control, const Socket& listener) : control_(std::move(control)) {
    const nlohmann::json test = control_.receive();
    errno = 0;
    if (control_.closed()) return;
    const uint64_t streams = test.value("streams", uint64_t{0}), size = test.value("size", uint64_t{0});
    if (streams < 1 || streams > kMaxStreams || size < 1 || size > kMaxSize) fail("the peer is not mrc-socket-limit");
    latency_ = test.value("latency", false);
    buffer_bytes_ = std::max(size, kMinRead);
    buffer_ = std::make_unique<Buffer>(buffer_bytes_ * streams);
    for (uint64_t i = 0; i < streams; ++i) streams_.push_back(accept_from(listener));
    for (const Socket& s : streams_) set_no_delay(s, true);
    if (streams == 1)
      block_for_a_moment();
    else
      watch();
    control_.send({{"ready", true}});
  }

  void serve() {
    while (!control_.closed()) {
      control_.receive();  // the start of a slice
      if (!control_.closed()) slice();
    }
  }

 private:
  void block_for_a_moment() {
    const timeval moment{0, kIdleMs * 1000};
    ::setsockopt(streams_[0].fd(), SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
  }
  void watch() {
    epoll_ = Socket(::epoll_create1(EPOLL_CLOEXEC));
    for (size_t i = 0; i < streams_.size(); ++i) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      ::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, streams_[i].fd(), &event);
    }
  }

  void slice() {
    received_ = first_ns_ = last_ns_ = 0;
    const double cpu = cpu_seconds();
    control_.send({{"started", true}});
    uint64_t sent = UINT64_MAX;
    while (received_ < sent && !control_.closed()) {
      const bool any = latency_ ? pong() : epoll_.fd() < 0 ? read_stream(0, 0) : read_several();
      if (any) continue;
      if (const auto end = control_.try_receive()) sent = end->value("sent", uint64_t{0});
    }
    control_.send(
        {{"bytes", received_}, {"first_ns", first_ns_}, {"last_ns", last_ns_}, {"cpu_s", cpu_seconds() - cpu}});
  }

  bool read_stream(size_t stream, int flags) {
    char* const to = buffer_->data() + stream * buffer_bytes_;
    const ssize_t n = ::recv(streams_[stream].fd(), to, buffer_bytes_, flags);
    if (n <= 0) return false;
    count(static_cast<uint64_t>(n));
    return true;
  }

  bool read_several() {
    epoll_event events[kMaxStreams];
    const int ready = ::epoll_wait(epoll_.fd(), events, kMaxStreams, kIdleMs);
    for (int i = 0; i < ready; ++i) read_stream(events[i].data.u64, MSG_DONTWAIT);
    return ready > 0;
  }

  // False now and then, so that the end of the slice is seen.
  bool pong() {
    char ping[2];
    for (int spin = 0; spin < 1000; ++spin) {
      const ssize_t n = ::recv(streams_[0].fd(), ping, sizeof ping, MSG_DONTWAIT);
      if (n != sizeof ping) continue;
      (void)!::send(streams_[0].fd(), ping, sizeof ping, MSG_NOSIGNAL);
      count(sizeof ping);
      return true;
    }
    return false;
  }

  void count(uint64_t bytes) {
    last_ns_ = now_ns();
    received_ += bytes;
    if (first_ns_ == 0) first_ns_ = last_ns_;
  }

  Control control_;
  std::vector<Socket> streams_;
  Socket epoll_;
  std::unique_ptr<Buffer> buffer_;
  uint64_t buffer_bytes_ = 0;  // of each stream
  bool latency_ = false;
  uint64_t received_ = 0, first_ns_ = 0, last_ns_ = 0;
};

}  // namespace

int run_server(const Options& options) {
  const Socket listener = listen_on(options);
  std::printf("ready\n");
  std::fflush(stdout);
  do {
    Session(Control(accept_from(listener)), listener).serve();
  } while (!options.once);
  return 0;
}

}  // namespace socket_limit
