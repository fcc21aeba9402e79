// IpAddress: 16 bytes in network order; an IPv4 address is stored as ::ffff:a.b.c.d, as in a GID of RoCE v2.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

namespace mrc {

struct IpAddress {
  std::array<uint8_t, 16> bytes{};

  static constexpr IpAddress v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
    IpAddress ip;
    ip.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d};
    return ip;
  }
  // Accepts "127.0.0.1" and "fd00::1". Only parses, never resolves names.
  static std::optional<IpAddress> parse(const std::string& text);
  std::string to_string() const;
  bool is_v4() const;
  bool is_zero() const;
  bool is_link_local() const;  // fe80::/10: has no meaning without an interface
  bool is_unicast() const;     // neither unspecified, multicast nor IPv4's broadcast
  bool is_multicast() const {  // ff00::/8, 224.0.0.0/4; every packet's destination is asked
    return bytes[0] == 0xFF || (bytes[12] >> 4 == 14 && is_v4());
  }
  bool is_loopback_v4() const;  // 127.0.0.0/8, all of which answers though lo lists one
  // Two words instead of a call of memcmp: every packet's source is compared.
  friend bool operator==(const IpAddress& a, const IpAddress& b) {
    using Words = std::array<uint64_t, 2>;
    const Words x = std::bit_cast<Words>(a.bytes), y = std::bit_cast<Words>(b.bytes);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
  }
  friend bool operator!=(const IpAddress& a, const IpAddress& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const IpAddress& ip) {
    return H::combine_contiguous(static_cast<H&&>(h), ip.bytes.data(), ip.bytes.size());
  }
  friend bool operator<(const IpAddress& a, const IpAddress& b) { return a.bytes < b.bytes; }
};

static_assert(sizeof(IpAddress) == 16);

}  // namespace mrc
