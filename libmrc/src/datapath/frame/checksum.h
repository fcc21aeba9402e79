// The internet checksum (RFC 1071) over an upper layer's bytes and the IPv6 pseudo-header (RFC 8200 section 8.1).
#pragma once

#include <cstdint>

#include "base/ip.h"

namespace mrc::datapath {

// What the checksum field must hold, the field itself being 0 in `data`; 0 when the field holds the right value.
uint16_t ipv6_checksum(const IpAddress& from, const IpAddress& to, uint8_t next_header, const uint8_t* data,
                       uint32_t bytes);

}  // namespace mrc::datapath
