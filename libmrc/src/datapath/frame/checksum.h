// The internet checksum (RFC 1071) over an upper layer's bytes and the IPv6 pseudo-header (RFC 8200 section 8.1).
#pragma once

#include <cstdint>

#include "base/ip.h"

namespace mrc::datapath {

// The value of the checksum field if the field is 0 in `data`; 0 when the field has the correct value.
uint16_t ipv6_checksum(const IpAddress& from, const IpAddress& to, uint8_t next_header, const uint8_t* data,
                       uint32_t bytes);

}  // namespace mrc::datapath
