#include "base/ip.h"

#include <arpa/inet.h>

#include <cstring>
#include <optional>

namespace mrc {

std::optional<IpAddress> IpAddress::parse(const std::string& text) {
  IpAddress address;
  if (inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
  uint8_t b[4];
  if (inet_pton(AF_INET, text.c_str(), b) != 1) return std::nullopt;
  return v4(b[0], b[1], b[2], b[3]);
}

std::string IpAddress::to_string() const {
  char text[INET6_ADDRSTRLEN];
  if (is_v4()) return inet_ntop(AF_INET, bytes.data() + 12, text, sizeof text);
  return inet_ntop(AF_INET6, bytes.data(), text, sizeof text);
}

bool IpAddress::is_v4() const {
  static constexpr uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return std::memcmp(bytes.data(), kPrefix, sizeof kPrefix) == 0;
}

bool IpAddress::is_link_local() const {
  return bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80;
}

bool IpAddress::is_unicast() const {
  if (is_v4()) return *this != v4(0, 0, 0, 0) && bytes[12] < 224;
  return !is_zero() && bytes[0] != 0xFF;
}

bool IpAddress::is_loopback_v4() const {
  return is_v4() && bytes[12] == 127;
}

bool IpAddress::is_zero() const {
  return *this == IpAddress{};
}

}  // namespace mrc
