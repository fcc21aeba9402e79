// Frame: an Ethernet frame with an IPv6 packet while it is inside the switch, and what the switch may do to its bytes:
// shift the uSID list, count the hop limit down, mark CE, trim. Offsets count from the first byte of the frame.
//
// Trimming [spec/switch.md, MRC-SW-4, MRC-SW-CHOICE-1, MRC-SW-CHOICE-2, MRC-SW-CHOICE-3; spec/wire.md, MRC-CHOICE-Q24;
// spec/srv6.md, MRC-SR-12 and MRC-SR-15]: the packet ends `trim_bytes` after
// its first byte, or later, where BTH, METH and TSETH would not survive; every length is made that of what is left,
// because a UDP socket accepts nothing else; the UDP checksum becomes 0; all IPv6 headers get the new code point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ip.h"
#include "base/time.h"
#include "sim/queue/switch_queue.h"

namespace mrc::softswitch {

inline constexpr uint32_t kEthernetHeader = 14, kIpHeader = 40, kUdpHeader = 8;
inline constexpr uint32_t kTrimKeeps = 20;  // of the UDP payload: BTH, METH, TSETH

// Code points that mean something to a switch [MRC-DSCP-1]; the defaults are those of libmrc.
struct CodePoints {
  uint8_t trimmable = 4, trimmable_retx = 8, trimmed = 12, trimmed_last_hop = 16, control = 46;
};

using queueing::TrafficClass;

struct Frame {
  uint8_t* data = nullptr;
  uint32_t bytes = 0;      // from the Ethernet header on, without preamble and check sequence
  uint32_t transport = 0;  // offset of a UDP header; 0: not UDP, never trimmed
  uint32_t inner = 0;      // offset of an inner IPv6 header; 0: none
  uint16_t port = 0;       // of arrival; later: of departure
  TrafficClass tc = TrafficClass::kData;
  bool trimmable = false;
  Instant arrived;  // last bit
  Frame* next = nullptr;
};

// The kind of `frame`. False: not a whole IPv6 packet. Cuts the padding of short frames.
bool parse(Frame* frame, const CodePoints& dscp);

IpAddress source(const Frame& f);
IpAddress destination(const Frame& f);
void set_destination(Frame* f, const IpAddress& to);
void set_macs(Frame* f, const uint8_t* to, const uint8_t* from);
inline uint8_t hop_limit(const Frame& f) {
  return f.data[kEthernetHeader + 7];
}
inline void set_hop_limit(Frame* f, uint8_t limit) {
  f->data[kEthernetHeader + 7] = limit;
}
inline uint8_t next_header(const Frame& f) {
  return f.data[kEthernetHeader + 6];
}
uint8_t traffic_class(const Frame& f);
// A CE mark on every header with ECT. False: the outer one has none.
bool mark_ce(Frame* f);
// Sets class, lengths and code point. `trim_bytes` counts as Frame::bytes does.
void trim(Frame* f, uint32_t trim_bytes, uint8_t dscp);
// Consumes the next segment of an SRH that directly follows the outer header. False: none is left.
bool advance_segment(Frame* f);
// Addresses, flow label and ports of the outermost packet.
uint64_t flow_hash(const Frame& f, uint64_t salt);

}  // namespace mrc::softswitch
