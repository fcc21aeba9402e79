#include "datapath/frame/neighbour_message.h"

#include <algorithm>
#include <cstring>

#include "datapath/frame/checksum.h"
#include "wire/bytes.h"

namespace mrc::datapath {

namespace {

using wire::get16;
using wire::put16;
using wire::put32;

constexpr uint8_t kNextIcmpv6 = 58;
constexpr uint8_t kOnLinkHopLimit = 255;  // proves that no router has forwarded it
constexpr uint8_t kSolicitation = 135;
constexpr uint8_t kAdvertisement = 136;
constexpr uint8_t kSourceLinkAddress = 1;
constexpr uint8_t kTargetLinkAddress = 2;
constexpr uint32_t kMessageBytes = 24;
constexpr uint8_t kSolicited = 0x40;
constexpr uint8_t kOverride = 0x20;

IpAddress group(uint8_t scope, uint8_t last) {
  IpAddress address;
  address.bytes[0] = 0xFF;
  address.bytes[1] = scope;
  address.bytes[15] = last;
  return address;
}

IpAddress solicited_node(const IpAddress& target) {
  IpAddress address = group(2, 0);
  address.bytes[11] = 1;
  address.bytes[12] = 0xFF;
  std::copy(target.bytes.begin() + 13, target.bytes.end(), address.bytes.begin() + 13);
  return address;
}

MacAddress multicast_mac(const IpAddress& to) {
  return {0x33, 0x33, to.bytes[12], to.bytes[13], to.bytes[14], to.bytes[15]};
}

struct Addressed {
  IpAddress from, to;
  MacAddress from_mac, to_mac;
};

void write(const Addressed& ends, uint8_t type, uint8_t flags, const IpAddress& target, uint8_t option,
           NeighbourFrame* out) {
  uint8_t* p = out->data();
  std::copy(ends.to_mac.begin(), ends.to_mac.end(), p);
  std::copy(ends.from_mac.begin(), ends.from_mac.end(), p + 6);
  put16(p + 12, kEtherTypeIpv6);
  p += kEthernetBytes;
  constexpr uint32_t kBytes = kMessageBytes + 8;
  put32(p, 6u << 28);
  put16(p + 4, kBytes);
  p[6] = kNextIcmpv6;
  p[7] = kOnLinkHopLimit;
  std::memcpy(p + 8, ends.from.bytes.data(), 16);
  std::memcpy(p + 24, ends.to.bytes.data(), 16);
  p += kIpv6Bytes;
  std::memset(p, 0, 8);
  p[0] = type;
  p[4] = flags;
  std::memcpy(p + 8, target.bytes.data(), 16);
  p[kMessageBytes] = option;
  p[kMessageBytes + 1] = 1;  // units of 8 bytes
  std::copy(ends.from_mac.begin(), ends.from_mac.end(), p + kMessageBytes + 2);
  put16(p + 2, ipv6_checksum(ends.from, ends.to, kNextIcmpv6, p, kBytes));
}

// The link address among the options; false when they do not fit.
bool find_option(const uint8_t* p, uint32_t left, uint8_t wanted, NeighbourMessage* out) {
  while (left > 0) {
    const uint32_t bytes = left >= 2 ? 8u * p[1] : 0;
    if (bytes == 0 || bytes > left) return false;
    if (p[0] == wanted) {
      out->has_mac = true;
      std::copy_n(p + 2, out->mac.size(), out->mac.begin());
    }
    p += bytes;
    left -= bytes;
  }
  return true;
}

}  // namespace

std::optional<NeighbourMessage> parse_neighbour(const uint8_t* frame, uint32_t bytes) {
  if (bytes < kEthernetBytes + kIpv6Bytes + kMessageBytes || get16(frame + 12) != kEtherTypeIpv6) return std::nullopt;
  const uint8_t* ip = frame + kEthernetBytes;
  const uint32_t length = get16(ip + 4);
  if (ip[0] >> 4 != 6 || ip[6] != kNextIcmpv6 || ip[7] != kOnLinkHopLimit || length < kMessageBytes ||
      length > bytes - kEthernetBytes - kIpv6Bytes)
    return std::nullopt;
  const uint8_t* p = ip + kIpv6Bytes;
  if ((p[0] != kSolicitation && p[0] != kAdvertisement) || p[1] != 0) return std::nullopt;
  NeighbourMessage message;
  IpAddress to;
  std::memcpy(message.from.bytes.data(), ip + 8, 16);
  std::memcpy(to.bytes.data(), ip + 24, 16);
  std::memcpy(message.target.bytes.data(), p + 8, 16);
  if (message.target.bytes[0] == 0xFF || ipv6_checksum(message.from, to, kNextIcmpv6, p, length) != 0)
    return std::nullopt;
  message.solicitation = p[0] == kSolicitation;
  const uint8_t option = message.solicitation ? kSourceLinkAddress : kTargetLinkAddress;
  if (!find_option(p + kMessageBytes, length - kMessageBytes, option, &message)) return std::nullopt;
  return message;
}

void write_solicitation(const IpAddress& own, const MacAddress& own_mac, const IpAddress& target, NeighbourFrame* out) {
  const IpAddress to = solicited_node(target);
  write({own, to, own_mac, multicast_mac(to)}, kSolicitation, 0, target, kSourceLinkAddress, out);
}

void write_advertisement(const IpAddress& own, const MacAddress& own_mac, const NeighbourMessage& query,
                         const MacAddress& requester, NeighbourFrame* out) {
  const bool to_all = query.from.is_zero();
  const IpAddress to = to_all ? group(2, 1) : query.from;
  const MacAddress to_mac = to_all ? multicast_mac(to) : query.has_mac ? query.mac : requester;
  write({own, to, own_mac, to_mac}, kAdvertisement, to_all ? kOverride : kSolicited | kOverride, own,
        kTargetLinkAddress, out);
}

}  // namespace mrc::datapath
