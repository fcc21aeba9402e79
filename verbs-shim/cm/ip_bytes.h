// An IP address as 16 bytes in network order, of IPv4 the mapped one, ::ffff:a.b.c.d. A GID of RoCE v2 is such an
// address, that of a multicast group too.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace mrc::shim {

inline constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

inline bool is_mapped(const uint8_t* ip) {
  return std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), ip);
}
inline bool is_multicast(const uint8_t* ip) {
  return is_mapped(ip) ? ip[12] >> 4 == 14 : ip[0] == 0xFF;
}

}  // namespace mrc::shim
