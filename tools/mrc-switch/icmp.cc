#include "icmp.h"

#include <algorithm>
#include <cstring>

namespace mrc::softswitch {
namespace {

constexpr uint8_t kIcmpv6 = 58, kTimeExceeded = 3, kInformational = 128, kHopLimit = 64;
constexpr uint32_t kIcmpHeader = 8;
constexpr uint32_t kMinimumMtu = 1280;  // no answer is larger

uint32_t sum(const uint8_t* data, uint32_t bytes, uint32_t start) {
  for (uint32_t i = 0; i + 1 < bytes; i += 2) start += static_cast<uint32_t>(data[i] << 8 | data[i + 1]);
  if (bytes % 2 != 0) start += static_cast<uint32_t>(data[bytes - 1] << 8);
  return start;
}

}  // namespace

bool make_time_exceeded(Frame* f, const IpAddress& from, uint32_t capacity) {
  const IpAddress to = source(*f);
  uint8_t* ip = f->data + kEthernetHeader;
  uint8_t* body = ip + kIpHeader;
  const bool is_error =
      next_header(*f) == kIcmpv6 && (f->bytes <= kEthernetHeader + kIpHeader || body[0] < kInformational);
  if (is_error || to.is_zero() || to.bytes[0] == 0xFF) return false;
  const uint32_t room = std::min(capacity, kEthernetHeader + kMinimumMtu) - kEthernetHeader - kIpHeader - kIcmpHeader;
  const uint32_t quoted = std::min(f->bytes - kEthernetHeader, room);
  std::memmove(body + kIcmpHeader, ip, quoted);
  std::memset(body, 0, kIcmpHeader);
  body[0] = kTimeExceeded;
  const uint32_t length = kIcmpHeader + quoted;
  std::memset(ip, 0, 8);
  ip[0] = 0x60;
  ip[4] = static_cast<uint8_t>(length >> 8);
  ip[5] = static_cast<uint8_t>(length);
  ip[6] = kIcmpv6;
  ip[7] = kHopLimit;
  std::memcpy(ip + 8, from.bytes.data(), 16);
  std::memcpy(ip + 24, to.bytes.data(), 16);
  uint32_t s = sum(body, length, sum(ip + 8, 32, length + kIcmpv6));
  while (s >> 16 != 0) s = (s & 0xFFFF) + (s >> 16);
  body[2] = static_cast<uint8_t>(~s >> 8);
  body[3] = static_cast<uint8_t>(~s);
  f->bytes = kEthernetHeader + kIpHeader + length;
  return true;
}

}  // namespace mrc::softswitch
