// Neighbour solicitations and advertisements (RFC 4861) as complete frames, for datapaths over ports that the kernel
// does not manage: they solicit the MAC addresses of next hops and answer for their own. Limited to this: other options
// are skipped, addresses are not checked for duplicates. [MRC-SR-20]
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/ip.h"
#include "datapath/frame/frame.h"

namespace mrc::datapath {

inline constexpr uint32_t kNeighbourFrameBytes = kEthernetBytes + kIpv6Bytes + 24 + 8;  // message and one option
using NeighbourFrame = std::array<uint8_t, kNeighbourFrameBytes>;

struct NeighbourMessage {
  bool solicitation = false;  // else an advertisement
  IpAddress from, target;     // from is zero while an address is being checked for duplicates
  bool has_mac = false;       // of the sender (solicitation) or the target (advertisement)
  MacAddress mac{};
};

// None: something else, or invalid by RFC 4861 section 7.1: hop limit 255, correct checksum, options in bounds.
std::optional<NeighbourMessage> parse_neighbour(const uint8_t* frame, uint32_t bytes);

// Solicitation for `target`, to its solicited-node group.
void write_solicitation(const IpAddress& own, const MacAddress& own_mac, const IpAddress& target, NeighbourFrame* out);
// Advertisement of `own` at `own_mac`, to the solicitor; to all nodes if the solicitation had no source address.
void write_advertisement(const IpAddress& own, const MacAddress& own_mac, const NeighbourMessage& query,
                         const MacAddress& requester, NeighbourFrame* out);

}  // namespace mrc::datapath
