#include "channel.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mrc::net_bench {

Channel::~Channel() {
  close(fd_);
}

bool Channel::send(const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

std::optional<Json> Channel::receive(Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd p{fd_, POLLIN, 0};
    const int ready = poll(&p, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t size = recv(fd_, nullptr, 0, MSG_PEEK | MSG_TRUNC);
    if (size <= 0) return std::nullopt;
    std::string text(static_cast<size_t>(size), '\0');
    if (recv(fd_, text.data(), text.size(), 0) != size) return std::nullopt;
    return Json::parse(text);
  }
}

}  // namespace mrc::net_bench
