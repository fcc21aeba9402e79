// The name of mrcd's socket as the socket calls take it: a path, or @NAME in the abstract namespace of the network
// namespace. False: empty or too long.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace mrc::device {

inline bool unix_address(const std::string& name, sockaddr_un* out, socklen_t* length) {
  *out = {};
  out->sun_family = AF_UNIX;
  if (name.empty() || name.size() >= sizeof out->sun_path) return false;
  std::memcpy(out->sun_path, name.data(), name.size());
  *length = sizeof *out;
  if (name[0] != '@') return true;
  out->sun_path[0] = 0;
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return true;
}

}  // namespace mrc::device
