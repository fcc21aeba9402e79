#include "device/daemon_link.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "ctl/peer_json.h"
#include "datapath/holder.h"
#include "device/clock.h"
#include "device/log.h"
#include "device/unix_address.h"
#include "fd.h"
#include "invariant.h"
#include "uncancelled.h"

namespace mrc::device {

namespace {

using Json = nlohmann::json;

constexpr Duration kReplyTimeout = Duration::seconds(3);             // for an answer
constexpr Duration kFinalSendTimeout = Duration::milliseconds(200);  // for a daemon that does not read, at the end
constexpr size_t kMaxQueued = size_t{1} << 24;                       // a daemon that does not read is considered dead
constexpr size_t kMaxLine = size_t{1} << 26;
constexpr int kMaxParts = 1024;  // read at once
constexpr int kAbsentAfter = 5;  // seconds: a restart takes less
constexpr uint64_t kSocketTag = 0, kTimerTag = 1;

// Any user may have made a socket of this name.
bool trusted(int fd, const std::string& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (peer.uid == 0 || peer.uid == ::geteuid()) return true;
  log_once(LogLevel::kWarn, "mrcd's socket " + socket + " is not used" +
                                datapath::taken_by(datapath::Holder{peer.uid, peer.pid}) +
                                ": mrcd runs as root or as the user of its processes");
  return false;
}

}  // namespace

bool DaemonLink::open(const std::string& socket, LinkListener* listener) {
  socket_ = socket;
  listener_ = listener;
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  epoll_event event{EPOLLIN, {}};
  event.data.u64 = kTimerTag;
  if (!epoll_ || !timer_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event) != 0) return false;
  const itimerspec every{{1, 0}, {1, 0}};
  ::timerfd_settime(timer_.get(), 0, &every, nullptr);
  connect();
  return true;
}

void DaemonLink::close() {
  {
    const MutexLock lock(mutex_);
    flush();
    const Instant until = clock_now() + kFinalSendTimeout;
    while (fd_ && !out_.empty() && clock_now() < until) {
      pollfd wait{fd_.get(), POLLOUT, 0};
      ::poll(&wait, 1, 10);
      flush();
    }
    disconnect();
  }
  timer_ = Fd();
  epoll_ = Fd();
}

// The daemon identifies a process by its connection: a copy in a child would keep the parent registered. The epoll set
// is shared with the parent and must not be changed.
void DaemonLink::abandon() {
  for (Fd* const fd : {&fd_, &timer_, &epoll_}) *fd = Fd();
  connected_.store(false);
}

bool DaemonLink::connect() {
  const std::optional<UnixAddress> at = unix_address(socket_);
  if (!at) return false;
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), at->get(), at->length) != 0 || !trusted(fd.get(), socket_)) return false;
  epoll_event event{EPOLLIN, {}};
  event.data.u64 = kSocketTag;
  const std::string registration = listener_->registration().dump(-1, ' ', false, Json::error_handler_t::replace);
  {
    const MutexLock lock(mutex_);
    fd_ = std::move(fd);
    in_.clear();
    out_.clear();
    waits_for_room_ = false;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd_.get(), &event) != 0) {
      disconnect();
      return false;
    }
    connected_.store(true);
    was_connected_.store(true);
    log_line(LogLevel::kDebug, "connected to mrcd at " + socket_);
    queue(registration);
    check();
  }
  listener_->on_connected();
  return true;
}

void DaemonLink::disconnect() {
  fd_ = Fd();  // which removes it from the epoll set
  out_.clear();
  connected_.store(false);
  requests_.fail(EIO);
  answered_.notify_all();
  check();
}

void DaemonLink::check() const {
  MRC_INVARIANT(connected() == static_cast<bool>(fd_));
  requests_.check();
}

void DaemonLink::flush() {
  while (fd_ && !out_.empty()) {
    const ssize_t n = ::send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      out_.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      give_up();
    }
  }
  const bool more = !out_.empty();
  if (!fd_ || more == waits_for_room_) return;
  epoll_event event{more ? EPOLLIN | EPOLLOUT : EPOLLIN, {}};
  event.data.u64 = kSocketTag;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd_.get(), &event);
  waits_for_room_ = more;
}

// Only the reading thread may close; it detects the end of the stream.
void DaemonLink::give_up() {
  out_.clear();
  ::shutdown(fd_.get(), SHUT_RDWR);
}

// One message may have any length: the limit applies to the unread bytes before it.
void DaemonLink::queue(const std::string& line) {
  if (out_.size() >= kMaxQueued) give_up();
  (out_ += line) += '\n';
  flush();
}

void DaemonLink::post(const Json& message) {
  if (!connected()) return;
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const MutexLock lock(mutex_);
  if (fd_) queue(line);
  check();
}

int DaemonLink::request(Json message) {
  const environment::Uncancelled now;
  const MutexLock lock(mutex_);
  if (!fd_) return EIO;
  const uint64_t id = requests_.add();
  message["request"] = id;
  queue(message.dump(-1, ' ', false, Json::error_handler_t::replace));
  const Instant deadline = clock_now() + kReplyTimeout;
  while (requests_.is_waiting(id) &&
         answered_.wait_for(mutex_, std::chrono::nanoseconds((deadline - clock_now()).ns()))) {
  }
  const std::optional<int> answer = requests_.take(id);
  check();
  return answer.value_or(EIO);
}

// Handles complete lines as they arrive, so that a burst of short ones does not count as a long one. False: the daemon
// has ended.
bool DaemonLink::read_some(int fd) {
  std::array<char, 65536> part;
  for (int parts = 0; parts < kMaxParts; ++parts) {  // the socket stays readable for the rest
    const ssize_t n = ::recv(fd, part.data(), part.size(), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (n < 0 && errno == EAGAIN) return true;
    if (n > 0) in_.append({part.data(), static_cast<size_t>(n)});
    take_lines();
    if (in_.unfinished() >= kMaxLine) return false;
  }
  return true;
}

void DaemonLink::take_lines() {
  while (const auto line = in_.next()) {
    const Json message = ctl::parse_peer_json(*line);
    if (!message.is_object()) {
      log_once(LogLevel::kWarn, "ignored a line from mrcd at " + socket_ + ": it is no JSON object");
      continue;
    }
    ++messages_;
    const auto answer = message.find("answer");
    if (answer == message.end()) {
      listener_->on_message(message);
      continue;
    }
    const auto error = message.find("error");
    const int result = error != message.end() && error->is_number_unsigned() ? error->get<int>() : EIO;
    const MutexLock lock(mutex_);
    if (answer->is_number_unsigned() && requests_.set(answer->get<uint64_t>(), result)) answered_.notify_all();
  }
}

void DaemonLink::serve() {
  std::array<epoll_event, 4> events;
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < n; ++i) {
    if (events[i].data.u64 == kTimerTag) {
      uint64_t ticks;
      [[maybe_unused]] const ssize_t got = ::read(timer_.get(), &ticks, sizeof ticks);
      if (connected() || connect())
        seconds_absent_ = 0;
      else if (was_connected() && ++seconds_absent_ == kAbsentAfter)
        listener_->on_daemon_absent();
      continue;
    }
    int fd;
    {
      const MutexLock lock(mutex_);
      flush();
      fd = fd_.get();
    }
    if (fd < 0) continue;
    if (read_some(fd)) continue;
    const MutexLock lock(mutex_);
    disconnect();
    log_line(LogLevel::kDebug,
             "mrcd has closed the connection: the shared state stays as it is, and the device reconnects");
  }
}

void DaemonLink::wait_for_message(Duration max) {
  const Instant until = clock_now() + max;
  while (connected() && messages_ == 0 && clock_now() < until) {
    pollfd wait{epoll_.get(), POLLIN, 0};
    ::poll(&wait, 1, 10);
    serve();
  }
}

}  // namespace mrc::device
