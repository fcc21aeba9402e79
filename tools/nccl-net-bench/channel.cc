#include "channel.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>

namespace mrc::net_bench {

namespace {

constexpr size_t kLongestLine = size_t{64} << 20;  // a host may print anything

// A pipe, as sshd gives it, has no MSG_NOSIGNAL: there the signal ends the rank, whose coordinator has ended.
ssize_t put(int fd, const char* data, size_t size) {
  const ssize_t sent = ::send(fd, data, size, MSG_NOSIGNAL);
  return sent < 0 && errno == ENOTSOCK ? write(fd, data, size) : sent;
}

}  // namespace

bool Channel::send(const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t size = put(out_ ? out_.get() : in_.get(), text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    done += static_cast<size_t>(size);
  }
  return true;
}

bool Channel::fill(Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd p{in_.get(), POLLIN, 0};
    const int ready = poll(&p, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char part[16384];
    const ssize_t size = read(in_.get(), part, sizeof part);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0 || buffer_.size() > kLongestLine) return ended_ = true, false;
    buffer_.append(part, static_cast<size_t>(size));
    return true;
  }
}

std::optional<Json> Channel::receive(Clock::time_point until) {
  for (;;) {
    const size_t end = buffer_.find('\n');
    if (end == std::string::npos) {
      if (!fill(until)) return std::nullopt;
      continue;
    }
    const std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    Json message = Json::parse(line, nullptr, false);
    if (!message.is_discarded()) return message;
    fprintf(stderr, "%s\n", line.c_str());
  }
}

}  // namespace mrc::net_bench
