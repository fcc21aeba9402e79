// The name of mrcd's socket as the socket calls take it: a path, or @NAME in the abstract namespace of the network
// namespace. None: empty or too long.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

namespace mrc::device {

struct UnixAddress {
  sockaddr_un name{};
  socklen_t length = sizeof(sockaddr_un);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

inline std::optional<UnixAddress> unix_address(const std::string& name) {
  UnixAddress made;
  made.name.sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof made.name.sun_path) return std::nullopt;
  std::memcpy(made.name.sun_path, name.data(), name.size());
  if (name[0] != '@') return made;
  made.name.sun_path[0] = 0;
  made.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return made;
}

}  // namespace mrc::device
