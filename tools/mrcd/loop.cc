#include "loop.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

namespace mrc::mrcd {

namespace asio = boost::asio;

Instant steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

struct Loop::Context {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
};

struct Loop::Watch : std::enable_shared_from_this<Watch> {
  Watch(asio::io_context& context, int socket, std::function<void()> function)
      : descriptor(context, socket), ready(std::move(function)) {}
  ~Watch() { descriptor.release(); }

  void wait() {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](const boost::system::error_code& error) {
                            if (error || self->ended) return;
                            self->ready();
                            if (!self->ended) self->wait();
                          });
  }

  asio::posix::stream_descriptor descriptor;
  std::function<void()> ready;
  bool ended = false;
};

// Keeps itself alive by the handler that waits.
struct Loop::Timer : std::enable_shared_from_this<Timer> {
  Timer(asio::io_context& context, Duration period, std::function<void(Instant)> function)
      : timer(context), interval(period), next(steady_now() + period), due(std::move(function)) {}

  void wait() {
    timer.expires_at(std::chrono::steady_clock::time_point(std::chrono::nanoseconds(next.ns())));
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (error) return;
      const Instant now = steady_now();
      self->next = std::max(self->next + self->interval, now);
      self->due(now);
      self->wait();
    });
  }

  asio::steady_timer timer;
  const Duration interval;
  Instant next;
  std::function<void(Instant)> due;
};

Loop::Loop() : context_(std::make_unique<Context>()) {}

Loop::~Loop() {
  while (!watched_.empty()) unwatch(watched_.begin()->first);
}

asio::io_context& Loop::context() {
  return context_->io;
}

void Loop::watch(int socket, std::function<void()> ready) {
  unwatch(socket);
  const auto watch = std::make_shared<Watch>(context(), socket, std::move(ready));
  watched_[socket] = watch;
  watch->wait();
}

void Loop::unwatch(int socket) {
  const auto found = watched_.find(socket);
  if (found == watched_.end()) return;
  found->second->ended = true;
  found->second->descriptor.release();  // cancels the wait
  watched_.erase(found);
}

void Loop::every(Duration interval, std::function<void(Instant)> due) {
  std::make_shared<Timer>(context(), interval, std::move(due))->wait();
}

void Loop::post(std::function<void()> closure) {
  asio::post(context(), std::move(closure));
}

void Loop::run() {
  context_->io.run();
}

void Loop::stop() {
  context_->io.stop();
}

}  // namespace mrc::mrcd
