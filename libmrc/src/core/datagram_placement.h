// Places a received datagram into the memory of a receive request: the IP header in the form of a GRH, then the data.
// [MRC-UD-6]
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/ip.h"
#include "core/datagram.h"
#include "core/datagram_receive_queue.h"
#include "core/memory.h"
#include "wire/flow.h"

namespace mrc::core {

using Grh = std::array<uint8_t, kGrhBytes>;

// The 40 bytes before the data: an IPv6 header; if both GIDs are IPv4 addresses, 20 zeros and an IPv4 header.
// `udp_payload`: BTH to ICRC.
Grh make_grh(const wire::Flow& flow, const IpAddress& source, const IpAddress& destination, uint32_t udp_payload);

// False: a key, domain, range or access of the request is not valid, or its memory is gone (`fault`); a part may have
// been written.
[[nodiscard]] bool place_datagram(const MemoryTable& memory, uint32_t pd, const DatagramReceiveQueue::Request& to,
                                  const Grh& grh, std::span<const uint8_t> data, MemoryFault* fault = nullptr);

}  // namespace mrc::core
