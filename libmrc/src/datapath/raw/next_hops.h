// The MAC address for a frame to an IPv6 address: the kernel's routes and neighbour table, queried over rtnetlink and
// remembered for a while. A neighbour that is unknown to the kernel, or stale, is not resolved here:
// the caller passes that packet to the kernel (an IPv6 raw socket), which resolves or confirms the neighbour, holds the
// packet meanwhile and sends it [MRC-SR-16].
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ip.h"
#include "base/time.h"
#include "datapath/frame/frame.h"
#include "datapath/udp/socket.h"

namespace mrc::datapath {

class NextHops {
 public:
  Status open(uint32_t interface);
  // Null: the kernel must send it.
  const MacAddress* find(const IpAddress& to, Instant now);

 private:
  static constexpr Duration kKnownFor = Duration::milliseconds(1000);
  static constexpr Duration kUnknownFor = Duration::milliseconds(2);
  static constexpr size_t kMaxHops = 65536;  // maximum cached destinations; then the cache is cleared

  struct Hop {
    std::optional<MacAddress> mac;
    Instant until = kLongAgo;
  };
  // The gateway, or the address itself when it is on the link. None: no route by this interface, or our own address.
  std::optional<IpAddress> route(const IpAddress& to);
  // None: not in the table, or not fresh enough to be used.
  std::optional<MacAddress> neighbour(const IpAddress& next);
  bool request(void* message, uint32_t length, uint16_t answer_type);

  Fd socket_;
  uint32_t interface_ = 0;
  uint32_t sequence_ = 0;
  std::map<IpAddress, Hop> hops_;
  alignas(8) std::array<uint8_t, 8192> answer_;
  uint32_t answer_length_ = 0;
};

}  // namespace mrc::datapath
