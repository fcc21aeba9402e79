#include "loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>

namespace mrc::mrcd {

Instant steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

Loop::Loop() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Loop::~Loop() {
  ::close(wake_);
}

void Loop::watch(int fd, short events, Ready ready) {
  watched_[fd] = {events, std::move(ready)};
}
void Loop::unwatch(int fd) {
  watched_.erase(fd);
}

void Loop::every(Duration interval, std::function<void(Instant)> due) {
  timers_.push_back({interval, steady_now() + interval, std::move(due)});
}

void Loop::post(std::function<void()> closure) {
  {
    const MutexLock lock(mutex_);
    posted_.push_back(std::move(closure));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void Loop::stop() {
  stopping_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void Loop::take_posted() {
  uint64_t count;
  [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
  std::vector<std::function<void()>> closures;
  {
    const MutexLock lock(mutex_);
    closures.swap(posted_);
  }
  for (const auto& closure : closures) closure();
}

int Loop::wait_ms() const {
  Instant next = Instant::never();
  for (const Timer& timer : timers_) next = std::min(next, timer.next);
  if (next == Instant::never()) return -1;
  constexpr int64_t kNsPerMs = 1'000'000;
  const int64_t ns = (next - steady_now()).ns();
  return ns <= 0 ? 0 : static_cast<int>(std::min<int64_t>((ns + kNsPerMs - 1) / kNsPerMs, 1000));
}

void Loop::run() {
  std::vector<pollfd> fds;
  while (!stopping_) {
    fds.assign(1, {wake_, POLLIN, 0});
    for (const auto& [fd, watcher] : watched_) fds.push_back({fd, watcher.first, 0});
    const int n = ::poll(fds.data(), fds.size(), wait_ms());
    if (n < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
    if (n > 0 && fds[0].revents != 0) take_posted();
    for (size_t i = 1; n > 0 && i < fds.size(); ++i) {
      if (fds[i].revents == 0) continue;
      // A watcher may have gone meanwhile, or go while it is called.
      const auto found = watched_.find(fds[i].fd);
      if (found == watched_.end()) continue;
      const Ready ready = found->second.second;
      ready(fds[i].revents);
    }
    const Instant now = steady_now();
    for (Timer& timer : timers_) {
      if (timer.next > now) continue;
      timer.next = std::max(timer.next + timer.interval, now);
      timer.due(steady_now());  // those before may have taken long
    }
  }
}

}  // namespace mrc::mrcd
