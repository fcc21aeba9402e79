#include "switch_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "fd.h"
#include "topology.h"

namespace mrc::fabric {
namespace {

constexpr int kAnswerTimeoutMs = 5000;  // a busy machine polls late

}  // namespace

sockaddr_un socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw FabricError(path + ": too long for a socket, allowed: " + std::to_string(sizeof address.sun_path - 1) +
                      " characters; set MRC_LAB_DIR to a shorter folder");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

std::optional<std::string> query_switch(const std::string& path, const std::string& request) {
  const sockaddr_un address = socket_address(path);
  const Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return std::nullopt;
  std::string text;
  const std::string line = request + "\n";
  bool whole = false;
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size())) {
    char buffer[65536];
    for (;;) {
      pollfd ready{fd.get(), POLLIN, 0};
      if (poll(&ready, 1, kAnswerTimeoutMs) <= 0) break;
      const ssize_t n = read(fd.get(), buffer, sizeof buffer);
      if (n == 0) whole = !text.empty() && text.back() == '\n';
      if (n <= 0) break;
      text.append(buffer, static_cast<size_t>(n));
    }
  }
  if (!whole) return std::nullopt;
  text.pop_back();
  return text;
}

}  // namespace mrc::fabric
