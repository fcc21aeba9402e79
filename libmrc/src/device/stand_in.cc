#include "device/stand_in.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "device/clock.h"
#include "device/helper.h"
#include "thread_mark.h"

namespace mrc::device {

namespace {

timespec timespec_of(int64_t ns) {
  return {ns / 1000000000, ns % 1000000000};
}

}  // namespace

bool StandInState::begin(int own_cqs) {
  if (others_.load() > 0 || armed_cqs_.load() > own_cqs) return false;
  bool free = false;
  if (!sleeps_.compare_exchange_strong(free, true)) return false;
  own_cqs_.store(own_cqs, std::memory_order_relaxed);
  thread_.store(environment::thread_mark(), std::memory_order_relaxed);
  return true;
}

void StandInState::end(Instant now) {
  last_sleep_.store(now.ns(), std::memory_order_relaxed);
  sleeps_.store(false);
}

bool StandInState::is_calling_thread() const {
  return thread_.load(std::memory_order_relaxed) == environment::thread_mark();
}

bool StandIn::begin(int own_cqs) {
  const bool polled = helper_.fds_.size() <= Helper::kTimer + 1;
  return helper_.started_.load() && !polled && helper_.stand_in_.begin(own_cqs);
}

void StandIn::end() {
  const Instant now = clock_now();
  helper_.stand_in_.end(now);
  if (helper_.parked_.load()) helper_.park_timer_.extend(now);
}

void StandIn::count_other(int by) {
  helper_.stand_in_.count_other(by);
  if (by > 0) helper_.wake_parked();
}

int StandIn::wait(pollfd* fds, size_t n, const timespec* max, Instant until, bool* work) const {
  std::array<pollfd, kMaxFds + 1 + Helper::kMaxDatapathFds> all;  // with the timer
  pollfd* const own = std::copy_n(fds, n, all.begin());
  // The helper may be writing what its own wait returned.
  pollfd* const end =
      std::transform(helper_.fds_.begin() + Helper::kTimer, helper_.fds_.end(), own, [](const pollfd& fd) {
        return pollfd{fd.fd, POLLIN, 0};
      });
  const auto readable = [](const pollfd& fd) { return fd.revents != 0; };
  timespec left;
  const timespec* time = max;
  if (until < Instant::never()) {
    left = timespec_of(std::max<int64_t>((until - clock_now()).ns(), 0));
    if (max == nullptr || std::tie(left.tv_sec, left.tv_nsec) < std::tie(max->tv_sec, max->tv_nsec)) time = &left;
  }
  const int ready = ::ppoll(all.data(), static_cast<nfds_t>(end - all.begin()), time, nullptr);
  if (ready < 0) return ready;
  std::copy_n(all.begin(), n, fds);
  *work = std::any_of(own, end, readable) || (until < Instant::never() && clock_now() >= until);
  return static_cast<int>(std::count_if(all.begin(), own, readable));
}

}  // namespace mrc::device
