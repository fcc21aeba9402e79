#include "datapath/frame/frame.h"

#include <algorithm>
#include <cstring>

#include "wire/bytes.h"

namespace mrc::datapath {

namespace {

using wire::get16;
using wire::get32;
using wire::put16;
using wire::put32;

constexpr uint8_t kNextUdp = 17;
constexpr uint8_t kNextIpv6 = 41;
constexpr uint8_t kNextRouting = 43;
constexpr uint8_t kRoutingTypeSegments = 4;
constexpr uint8_t kHopLimit = 64;
constexpr uint8_t kEcnMask = 3;

uint8_t* put_ipv6(const wire::Flow& flow, const IpAddress& to, uint8_t next, uint32_t payload, uint8_t* p) {
  put32(p, 6u << 28 | static_cast<uint32_t>(flow.traffic_class) << 20 | (flow.flow_label & 0xFFFFF));
  put16(p + 4, static_cast<uint16_t>(payload));
  p[6] = next;
  p[7] = kHopLimit;
  std::memcpy(p + 8, flow.src.bytes.data(), 16);
  std::memcpy(p + 24, to.bytes.data(), 16);
  return p + kIpv6Bytes;
}

// One segment left: the destination is taken first, then this.
uint8_t* put_srh(const IpAddress& segment, uint8_t* p) {
  p[0] = kNextIpv6;
  p[1] = 2;  // 8-byte units behind the first
  p[2] = kRoutingTypeSegments;
  p[3] = 1;         // segments left
  p[4] = 0;         // last entry
  p[5] = 0;         // flags
  put16(p + 6, 0);  // tag
  std::memcpy(p + 8, segment.bytes.data(), 16);
  return p + kSrhBytes;
}

struct Ipv6 {
  uint8_t traffic_class = 0;
  uint32_t label = 0;
  uint8_t next = 0;
  IpAddress src, dst;
};

bool take_ipv6(const uint8_t** at, uint32_t* left, Ipv6* out) {
  const uint8_t* p = *at;
  if (*left < kIpv6Bytes || p[0] >> 4 != 6) return false;
  const uint32_t first = get32(p);
  out->traffic_class = static_cast<uint8_t>(first >> 20);
  out->label = first & 0xFFFFF;
  out->next = p[6];
  std::memcpy(out->src.bytes.data(), p + 8, 16);
  std::memcpy(out->dst.bytes.data(), p + 24, 16);
  *at += kIpv6Bytes;
  *left -= kIpv6Bytes;
  return true;
}

bool skip_routing_header(const uint8_t** at, uint32_t* left, uint8_t* next) {
  const uint8_t* p = *at;
  if (*left < 8) return false;
  const uint32_t bytes = 8u * (p[1] + 1u);
  if (*left < bytes || p[2] != kRoutingTypeSegments || p[3] != 0) return false;  // with segments left it is not for us
  *next = p[0];
  *at += bytes;
  *left -= bytes;
  return true;
}

}  // namespace

void write_header(const wire::Flow& flow, const SegmentPath& path, uint32_t payload_bytes, FrameHeader* out) {
  uint8_t* p = out->bytes.data();
  std::memset(p, 0, 12);
  put16(p + 12, kEtherTypeIpv6);
  p += kEthernetBytes;
  const uint32_t udp_bytes = kUdpBytes + payload_bytes;
  if (path.has_segment || path.destination != flow.dst) {
    const uint32_t inner = kIpv6Bytes + udp_bytes;
    p = put_ipv6(flow, path.destination, path.has_segment ? kNextRouting : kNextIpv6,
                 path.has_segment ? kSrhBytes + inner : inner, p);
    if (path.has_segment) p = put_srh(path.segment, p);
  }
  p = put_ipv6(flow, flow.dst, kNextUdp, udp_bytes, p);
  put16(p, flow.src_port);
  put16(p + 2, flow.dst_port);
  put16(p + 4, static_cast<uint16_t>(udp_bytes));
  put16(p + 6, 0);
  out->length = static_cast<uint32_t>(p + kUdpBytes - out->bytes.data());
}

void set_macs(const MacAddress& to, const MacAddress& from, FrameHeader* out) {
  std::copy(to.begin(), to.end(), out->bytes.begin());
  std::copy(from.begin(), from.end(), out->bytes.begin() + 6);
}

// Switches mark and trim by the outermost header: if the outer header is still present its class counts, but a CE
// mark of the inner one, set before the encapsulation, is not lost.
std::optional<ParsedFrame> parse_frame(const uint8_t* frame, uint32_t bytes) {
  if (bytes < kEthernetBytes || get16(frame + 12) != kEtherTypeIpv6) return std::nullopt;
  const uint8_t* at = frame + kEthernetBytes;
  uint32_t left = bytes - kEthernetBytes;
  Ipv6 ip;
  if (!take_ipv6(&at, &left, &ip)) return std::nullopt;
  uint8_t next = ip.next;
  if (next == kNextRouting && !skip_routing_header(&at, &left, &next)) return std::nullopt;
  ParsedFrame parsed;
  parsed.encapsulated = next == kNextIpv6;
  uint8_t traffic_class = ip.traffic_class;
  uint32_t outer_label = 0;
  if (parsed.encapsulated) {
    parsed.outer_destination = ip.dst;
    outer_label = ip.label;
    if (!take_ipv6(&at, &left, &ip)) return std::nullopt;
    if ((ip.traffic_class & kEcnMask) == static_cast<uint8_t>(wire::Ecn::kCe)) traffic_class |= kEcnMask;
    next = ip.next;
  }
  if (next != kNextUdp || left < kUdpBytes) return std::nullopt;
  const uint32_t udp_bytes = get16(at + 4);
  if (udp_bytes < kUdpBytes) return std::nullopt;
  parsed.flow.src = ip.src;
  parsed.flow.dst = ip.dst;
  parsed.flow.src_port = get16(at);
  parsed.flow.dst_port = get16(at + 2);
  parsed.flow.flow_label = ip.label != 0 ? ip.label : outer_label;
  parsed.flow.traffic_class = traffic_class;
  parsed.payload = at + kUdpBytes;
  parsed.payload_bytes = std::min(udp_bytes, left) - kUdpBytes;
  return parsed;
}

bool is_for(const ParsedFrame& frame, const IpAddress& address, uint16_t port, uint16_t second_port) {
  if (frame.flow.dst != address || (frame.encapsulated && frame.outer_destination != address)) return false;
  return frame.flow.dst_port == port || (second_port != 0 && frame.flow.dst_port == second_port);
}

}  // namespace mrc::datapath
