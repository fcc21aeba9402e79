// Complete frames: Ethernet, for SRv6 an outer IPv6 header and an SRH with one segment where the path needs it, IPv6,
// UDP. The writer puts headers before a payload that is not copied; the reader strips them, whether the last switch
// removed the outer header or left it [MRC-SR-11..15, MRC-CHOICE-Q25, spec/srv6.md].
//
// UDP checksums are sent as 0 and not checked: the ICRC protects packets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "datapath/srv6/usid.h"
#include "wire/flow.h"

namespace mrc::datapath {

using MacAddress = std::array<uint8_t, 6>;

inline constexpr uint16_t kEtherTypeIpv6 = 0x86DD;
inline constexpr uint32_t kEthernetBytes = 14;
inline constexpr uint32_t kIpv6Bytes = 40;
inline constexpr uint32_t kSrhBytes = 24;  // eight bytes and one segment
inline constexpr uint32_t kUdpBytes = 8;
inline constexpr uint32_t kMaxFrameHeader = kEthernetBytes + 2 * kIpv6Bytes + kSrhBytes + kUdpBytes;

struct FrameHeader {
  std::array<uint8_t, kMaxFrameHeader> bytes;
  uint32_t length = 0;
  // The packet without the Ethernet header, as an IPv6 raw socket expects it.
  const uint8_t* packet() const { return bytes.data() + kEthernetBytes; }
  uint32_t packet_length() const { return length - kEthernetBytes; }
};

// Everything before `payload_bytes` of UDP payload. The outer header is present when the path is not the destination of
// the flow alone. Its source, class and label are those of the flow. MAC addresses are left 0.
void write_header(const wire::Flow& flow, const SegmentPath& path, uint32_t payload_bytes, FrameHeader* out);
void set_macs(const MacAddress& to, const MacAddress& from, FrameHeader* out);

struct ParsedFrame {
  wire::Flow flow;
  const uint8_t* payload = nullptr;
  uint32_t payload_bytes = 0;
  bool encapsulated = false;
  IpAddress outer_destination;
};

// None: not UDP over IPv6, with one outer IPv6 header at most, or cut short inside the headers. A payload that is
// shorter than the headers state was trimmed and is returned unchanged.
std::optional<ParsedFrame> parse_frame(const uint8_t* frame, uint32_t bytes);

// A packet for that address and one of the ports (second_port 0: there is none); an outer header, where there is one,
// leads to the same address [MRC-SR-14].
bool is_for(const ParsedFrame& frame, const IpAddress& address, uint16_t port, uint16_t second_port);

}  // namespace mrc::datapath
