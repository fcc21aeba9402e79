#include "frame.h"

#include <algorithm>
#include <cstring>

namespace mrc::softswitch {
namespace {

constexpr uint8_t kRouting = 43, kIpv6 = 41, kUdp = 17, kSegmentRouting = 4;
constexpr uint32_t kEct = 3, kSrhFixed = 8;

uint32_t get16(const uint8_t* p) {
  return static_cast<uint32_t>(p[0] << 8 | p[1]);
}
void put16(uint8_t* p, uint32_t v) {
  p[0] = static_cast<uint8_t>(v >> 8);
  p[1] = static_cast<uint8_t>(v);
}

uint8_t class_at(const Frame& f, uint32_t ip) {
  return static_cast<uint8_t>(f.data[ip] << 4 | f.data[ip + 1] >> 4);
}
void set_class_at(Frame* f, uint32_t ip, uint8_t value) {
  f->data[ip] = static_cast<uint8_t>((f->data[ip] & 0xF0) | value >> 4);
  f->data[ip + 1] = static_cast<uint8_t>((f->data[ip + 1] & 0x0F) | value << 4);
}

bool is_ipv6(const Frame& f, uint32_t at) {
  return at + kIpHeader <= f.bytes && f.data[at] >> 4 == 6;
}

// Finds an inner packet and the UDP header behind routing headers. Others are carried, but have no transport for us.
void find_transport(Frame* f) {
  uint32_t at = kEthernetHeader + kIpHeader;
  uint8_t next = next_header(*f);
  for (;;) {
    if (next == kRouting && at + kSrhFixed <= f->bytes) {
      next = f->data[at];
      at += (f->data[at + 1] + 1u) * 8;
    } else if (next == kIpv6 && f->inner == 0 && is_ipv6(*f, at)) {
      f->inner = at;
      next = f->data[at + 6];
      at += kIpHeader;
    } else {
      break;
    }
  }
  if (next == kUdp && at + kUdpHeader <= f->bytes) f->transport = at;
}

uint64_t mix(uint64_t h) {
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93ull;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93ull;
  return h ^ h >> 32;
}

}  // namespace

bool parse(Frame* f, const CodePoints& dscp) {
  f->transport = f->inner = 0;
  f->tc = TrafficClass::kData;
  f->trimmable = false;
  if (f->bytes < kEthernetHeader + kIpHeader || get16(f->data + 12) != 0x86DD || !is_ipv6(*f, kEthernetHeader))
    return false;
  const uint32_t whole = kEthernetHeader + kIpHeader + get16(f->data + kEthernetHeader + 4);
  if (whole > f->bytes) return false;
  f->bytes = whole;
  find_transport(f);
  const uint8_t code_point = traffic_class(*f) >> 2;
  if (code_point == dscp.control) f->tc = TrafficClass::kControl;
  if (code_point == dscp.trimmed || code_point == dscp.trimmed_last_hop) f->tc = TrafficClass::kTrimmed;
  f->trimmable = f->transport != 0 && (code_point == dscp.trimmable || code_point == dscp.trimmable_retx);
  return true;
}

IpAddress source(const Frame& f) {
  IpAddress a;
  std::memcpy(a.bytes.data(), f.data + kEthernetHeader + 8, 16);
  return a;
}

IpAddress destination(const Frame& f) {
  IpAddress a;
  std::memcpy(a.bytes.data(), f.data + kEthernetHeader + 24, 16);
  return a;
}

void set_destination(Frame* f, const IpAddress& to) {
  std::memcpy(f->data + kEthernetHeader + 24, to.bytes.data(), 16);
}

void set_macs(Frame* f, const uint8_t* to, const uint8_t* from) {
  std::memcpy(f->data, to, 6);
  std::memcpy(f->data + 6, from, 6);
}

uint8_t traffic_class(const Frame& f) {
  return class_at(f, kEthernetHeader);
}

bool mark_ce(Frame* f) {
  const uint8_t outer = class_at(*f, kEthernetHeader);
  if ((outer & kEct) == 0) return false;
  set_class_at(f, kEthernetHeader, outer | kEct);
  // A decapsulating host may discard the outer mark.
  if (f->inner != 0 && (class_at(*f, f->inner) & kEct) != 0) set_class_at(f, f->inner, class_at(*f, f->inner) | kEct);
  return true;
}

void trim(Frame* f, uint32_t trim_bytes, uint8_t dscp) {
  f->bytes = std::min(f->bytes, std::max(trim_bytes, f->transport + kUdpHeader + kTrimKeeps));
  for (const uint32_t ip : {kEthernetHeader, f->inner}) {
    if (ip == 0) continue;
    put16(f->data + ip + 4, f->bytes - ip - kIpHeader);
    set_class_at(f, ip, static_cast<uint8_t>(dscp << 2 | (class_at(*f, ip) & kEct)));
  }
  put16(f->data + f->transport + 4, f->bytes - f->transport);
  put16(f->data + f->transport + 6, 0);
  f->tc = TrafficClass::kTrimmed;
  f->trimmable = false;
}

bool advance_segment(Frame* f) {
  constexpr uint32_t kSrh = kEthernetHeader + kIpHeader;
  if (next_header(*f) != kRouting || kSrh + kSrhFixed > f->bytes) return false;
  uint8_t* srh = f->data + kSrh;
  const uint32_t left = srh[3], last = srh[4];
  const uint32_t length = (srh[1] + 1u) * 8;
  if (srh[2] != kSegmentRouting || left == 0 || left > last + 1 || kSrh + length > f->bytes ||
      kSrhFixed + 16 * (last + 1) > length)
    return false;
  srh[3] = static_cast<uint8_t>(left - 1);
  std::memcpy(f->data + kEthernetHeader + 24, srh + kSrhFixed + 16 * (left - 1), 16);
  return true;
}

uint64_t flow_hash(const Frame& f, uint64_t salt) {
  uint64_t words[4];
  std::memcpy(words, f.data + kEthernetHeader + 8, sizeof words);
  uint64_t h = salt;
  for (const uint64_t w : words) h = mix(h ^ w);
  const uint8_t* ip = f.data + kEthernetHeader;
  const uint64_t label = static_cast<uint64_t>(ip[1] & 15) << 16 | get16(ip + 2);
  const bool plain = f.transport == kEthernetHeader + kIpHeader;
  const uint64_t ports =
      plain ? static_cast<uint64_t>(get16(f.data + f.transport)) << 16 | get16(f.data + f.transport + 2) : 0;
  return mix(h ^ (label << 40 | ports << 8 | next_header(f)));
}

}  // namespace mrc::softswitch
