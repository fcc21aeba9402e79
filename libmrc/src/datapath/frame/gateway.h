// Next hop of a datapath over a port of its own: a MAC address, a router whose MAC address is
// solicited, or, on a link without routers, the packet's destination itself. [MRC-SR-20]
#pragma once

#include <string>
#include <vector>

#include "base/ip.h"
#include "datapath/frame/frame.h"
#include "result.h"

namespace mrc::datapath {

struct Gateway {
  enum class Kind : uint8_t { kNone, kAddress, kMac };
  Kind kind = Kind::kNone;
  IpAddress address;
  MacAddress mac{};
};

// A list separated by ';', one entry for each plane or one for all: "fe80::1", "02:00:00:00:00:01" or "link"; empty:
// "link" for all. One for each of `planes`, or EINVAL.
Result<std::vector<Gateway>> parse_gateways(const std::string& text, uint32_t planes);

// The parts of a list separated by ';' or line ends, without blanks around them and without empty ones.
std::vector<std::string> split_list(const std::string& text);

}  // namespace mrc::datapath
