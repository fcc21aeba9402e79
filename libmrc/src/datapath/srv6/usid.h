// Compressed segments (uSIDs) in the F3216 format: an IPv6 address is a locator block of 32 bits and up to six uSIDs of
// 16 bits, zeros behind the last. A switch whose own uSID stands first (uN) shifts the uSIDs left by one place and
// forwards; after the last switch the address is one of the receiving host [MRC-SR-1..3, spec/wire.md].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ip.h"

namespace mrc::datapath {

inline constexpr uint32_t kBlockBytes = 4;
inline constexpr uint32_t kUsidBytes = 2;
inline constexpr uint32_t kUsidsPerAddress = 6;
inline constexpr uint32_t kMaxUsids = 2 * kUsidsPerAddress;  // destination and one segment of an SRH

using UsidList = std::vector<uint16_t>;  // no zeros: a zero ends a list

// The addressing of a packet that takes a path.
struct SegmentPath {
  IpAddress destination;     // of the (outer) IPv6 header
  IpAddress segment;         // the one entry of the SRH, when there is one
  bool has_segment = false;  // the path did not fit into the destination alone
  friend bool operator==(const SegmentPath& a, const SegmentPath& b) {
    return a.destination == b.destination && a.segment == b.segment && a.has_segment == b.has_segment;
  }
};

// uSIDs of `address` behind its block, up to the last that is not zero.
uint32_t usid_count(const IpAddress& address);

// Those of an address up to the first zero; of a path in the order in which they are taken.
UsidList usids_of(const IpAddress& address);
UsidList usids_of(const SegmentPath& path);

// The path through `via`, in the block of `to`, which ends at the address `to`. None: too long even with an SRH.
std::optional<SegmentPath> compose_path(const UsidList& via, const IpAddress& to);

// The address after a uN.
IpAddress shift_usid(const IpAddress& address);

}  // namespace mrc::datapath
