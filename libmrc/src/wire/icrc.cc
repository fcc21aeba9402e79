// See icrc.h. The IP header is rebuilt from the Flow because sockets do not return it; fields that a socket hides and a
// sender fixes (IPv4 identification and fragment field) have the values of choice [MRC-ICRC-3].
#include "wire/icrc.h"

#include <algorithm>
#include <cstring>

#include "wire/bytes.h"
#include "wire/crc32.h"
#include "wire/layout.h"

namespace mrc::wire {
namespace {

constexpr uint8_t kProtocolUdp = 17;
constexpr uint32_t kOnesBytes = 8;
constexpr uint32_t kIpv6Bytes = 40;
constexpr uint32_t kIpv4Bytes = 20;

// Eight bytes of ones, IP header, UDP header, as input of the CRC. Returns the length.
uint32_t masked_prefix(const Flow& flow, uint32_t udp_payload_bytes, uint8_t* out) {
  const uint32_t udp_bytes = udp_payload_bytes + kUdpHeaderBytes;
  std::memset(out, 0xFF, kOnesBytes);
  uint8_t* p = out + kOnesBytes;
  if (flow.dst.is_v4()) {
    p[0] = 0x45;
    p[1] = 0xFF;  // ToS
    put16(p + 2, static_cast<uint16_t>(kIpv4Bytes + udp_bytes));
    put16(p + 4, 0);       // identification
    put16(p + 6, 0x4000);  // DF, offset 0
    p[8] = 0xFF;           // TTL
    p[9] = kProtocolUdp;
    put16(p + 10, 0xFFFF);  // header checksum
    std::memcpy(p + 12, flow.src.bytes.data() + 12, 4);
    std::memcpy(p + 16, flow.dst.bytes.data() + 12, 4);
    p += kIpv4Bytes;
  } else {
    put32(p, 0x6FFFFFFF);  // version 6, traffic class and flow label all ones
    put16(p + 4, static_cast<uint16_t>(udp_bytes));
    p[6] = kProtocolUdp;
    p[7] = 0xFF;  // hop limit
    std::memcpy(p + 8, flow.src.bytes.data(), 16);
    std::memcpy(p + 24, flow.dst.bytes.data(), 16);
    p += kIpv6Bytes;
  }
  put16(p, flow.src_port);
  put16(p + 2, flow.dst_port);
  put16(p + 4, static_cast<uint16_t>(udp_bytes));
  put16(p + 6, 0xFFFF);  // UDP checksum
  p += kUdpHeaderBytes;
  return static_cast<uint32_t>(p - out);
}

}  // namespace

uint32_t icrc_start(const Flow& flow, uint32_t udp_payload_bytes) {
  uint8_t prefix[kOnesBytes + kIpv6Bytes + kUdpHeaderBytes];
  const uint32_t len = masked_prefix(flow, udp_payload_bytes, prefix);
  return crc32(0, prefix, len);
}

uint32_t icrc_update(uint32_t state, const void* data, size_t len) {
  if (len == 0) return state;
  return crc32(state, data, len);
}

uint32_t icrc_update_copy(uint32_t state, void* to, const void* data, size_t len) {
  if (len == 0) return state;
  return crc32_copy(state, to, data, len);
}

uint32_t icrc_update_headers(uint32_t state, std::span<const uint8_t> headers) {
  // One call over a copy beats three calls around the masked byte.
  uint8_t head[kMaxHeaderBytes];
  const size_t n = std::min(headers.size(), sizeof(head));
  std::memcpy(head, headers.data(), n);
  head[kBthVariantOffset] = 0xFF;
  return icrc_update(crc32(state, head, n), headers.data() + n, headers.size() - n);
}

uint32_t icrc_compute(const Flow& flow, std::span<const uint8_t> packet) {
  const uint32_t start = icrc_start(flow, static_cast<uint32_t>(packet.size()));
  return icrc_finish(icrc_update_headers(start, packet.first(packet.size() - kIcrcBytes)));
}

bool icrc_check(const Flow& flow, std::span<const uint8_t> packet) {
  if (packet.size() < Bth::kSize + kIcrcBytes) return false;
  return icrc_compute(flow, packet) == icrc_load(packet.data() + packet.size() - kIcrcBytes);
}

}  // namespace mrc::wire
