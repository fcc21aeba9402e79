#include "datapath/frame/checksum.h"

#include <cstring>

namespace mrc::datapath {

namespace {

// Sums in host order: the ones' complement sum does not depend on the order of bytes until it is read (RFC 1071 2.B).
uint64_t add(uint64_t sum, const uint8_t* data, uint32_t bytes) {
  uint64_t low = 0;
  for (; bytes >= 8; bytes -= 8, data += 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    low += (word & 0xFFFFFFFFu) + (word >> 32);
  }
  for (; bytes >= 2; bytes -= 2, data += 2) {
    uint16_t word;
    std::memcpy(&word, data, 2);
    low += word;
  }
  if (bytes == 1) {
    const uint8_t last[2] = {*data, 0};
    uint16_t word;
    std::memcpy(&word, last, 2);
    low += word;
  }
  return sum + low;
}

uint64_t add32(uint64_t sum, uint32_t value) {
  const uint8_t bytes[4] = {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16),
                            static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
  return add(sum, bytes, 4);
}

}  // namespace

uint16_t ipv6_checksum(const IpAddress& from, const IpAddress& to, uint8_t next_header, const uint8_t* data,
                       uint32_t bytes) {
  uint64_t sum = add(0, from.bytes.data(), 16);
  sum = add(sum, to.bytes.data(), 16);
  sum = add32(add32(sum, bytes), next_header);
  sum = add(sum, data, bytes);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  uint8_t folded[2];
  const auto in_host_order = static_cast<uint16_t>(~sum);
  std::memcpy(folded, &in_host_order, 2);
  return static_cast<uint16_t>(folded[0] << 8 | folded[1]);
}

}  // namespace mrc::datapath
