// Frames for the tests: UDP over IPv6, plain or encapsulated, with a payload that shows where it was cut.
#pragma once

#include <string>
#include <vector>

#include "frame_pool.h"

namespace mrc::softswitch {

inline constexpr uint32_t kBytes = 1250;  // 10 us at 1 Gb/s

struct FrameSpec {
  std::string from = "fd00:1::1", to = "fd00:1::2";
  std::string outer_to;  // empty: not encapsulated
  uint32_t payload = 1000;
  uint8_t traffic_class = 4 << 2 | 2;  // TRIMMABLE, ECT(0)
  uint8_t hop_limit = 64;
  uint16_t source_port = 50000;
  uint32_t flow_label = 0;
  uint16_t checksum = 0x1234;
};

inline IpAddress ip(const std::string& text) {
  return IpAddress::parse(text).value();
}

inline void append16(std::vector<uint8_t>* out, uint32_t v) {
  out->push_back(static_cast<uint8_t>(v >> 8));
  out->push_back(static_cast<uint8_t>(v));
}

inline void append_ip(std::vector<uint8_t>* out, const FrameSpec& s, const std::string& to, uint8_t next,
                      uint32_t length) {
  append16(out, 6u << 12 | static_cast<uint32_t>(s.traffic_class) << 4 | s.flow_label >> 16);
  append16(out, s.flow_label & 0xFFFF);
  append16(out, length);
  out->push_back(next);
  out->push_back(s.hop_limit);
  for (const uint8_t b : ip(s.from).bytes) out->push_back(b);
  for (const uint8_t b : ip(to).bytes) out->push_back(b);
}

inline std::vector<uint8_t> bytes_of(const FrameSpec& s) {
  std::vector<uint8_t> out(12, 0xEE);
  append16(&out, 0x86DD);
  if (!s.outer_to.empty()) append_ip(&out, s, s.outer_to, 41, kIpHeader + kUdpHeader + s.payload);
  append_ip(&out, s, s.to, 17, kUdpHeader + s.payload);
  append16(&out, s.source_port);
  append16(&out, 4791);
  append16(&out, kUdpHeader + s.payload);
  append16(&out, s.checksum);
  for (uint32_t i = 0; i < s.payload; ++i) out.push_back(static_cast<uint8_t>(i));
  return out;
}

inline Frame* put(FramePool* pool, const std::vector<uint8_t>& bytes) {
  Frame* f = pool->take();
  std::copy(bytes.begin(), bytes.end(), f->data);
  f->bytes = static_cast<uint32_t>(bytes.size());
  return f;
}

// A frame as a port's queue sees it: taken apart already.
inline Frame* parsed(FramePool* pool, const FrameSpec& s) {
  Frame* f = put(pool, bytes_of(s));
  parse(f, CodePoints());
  return f;
}

inline uint32_t word(const Frame& f, uint32_t at) {
  return static_cast<uint32_t>(f.data[at] << 8 | f.data[at + 1]);
}

inline std::string text_of(const IpAddress& a) {
  return a.to_string();
}

}  // namespace mrc::softswitch
