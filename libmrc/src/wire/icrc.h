// ICRC: the four-byte trailer over everything that no router changes [MRC-ICRC-1..6, spec/wire.md]. CRC-32 of Ethernet
// (reflected, ones before and after) by ISA-L. A state is the CRC of the bytes so far, so a prefix can be kept and
// continued several times: packets of a burst with one flow and one length share icrc_start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/flow.h"
#include "wire/udp.h"

namespace mrc::wire {

// State after the eight bytes of ones and the masked IP and UDP headers. `udp_payload_bytes` counts BTH to ICRC, both
// included. IPv4 when the destination is IPv4.
uint32_t icrc_start(const Flow& flow, uint32_t udp_payload_bytes);

// Continues over bytes behind the BTH. Chunks may be of any size, 0 included.
uint32_t icrc_update(uint32_t state, const void* data, size_t len);

// The same, copying the bytes to `to`.
uint32_t icrc_update_copy(uint32_t state, void* to, const void* data, size_t len);

// Continues over the BTH and what lies behind it, with byte 4 of the BTH taken as ones. First call after icrc_start;
// At least 12 bytes (a BTH); headers alone or headers with payload.
uint32_t icrc_update_headers(uint32_t state, std::span<const uint8_t> headers);

// The trailer's value. ISA-L inverts before and after each call, so no step is left: the function marks the end.
inline uint32_t icrc_finish(uint32_t state) {
  return state;
}

// Least significant byte first, unlike every other field [MRC-ICRC-5].
inline void icrc_store(uint8_t* p, uint32_t icrc) {
  p[0] = static_cast<uint8_t>(icrc);
  p[1] = static_cast<uint8_t>(icrc >> 8);
  p[2] = static_cast<uint8_t>(icrc >> 16);
  p[3] = static_cast<uint8_t>(icrc >> 24);
}
inline uint32_t icrc_load(const uint8_t* p) {
  return p[0] | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
         static_cast<uint32_t>(p[3]) << 24;
}

// Over a flat packet of at least 16 bytes, the last four being the trailer (not read).
uint32_t icrc_compute(const Flow& flow, std::span<const uint8_t> packet);

// False for a wrong trailer and for a packet too short to have one.
[[nodiscard]] bool icrc_check(const Flow& flow, std::span<const uint8_t> packet);

}  // namespace mrc::wire
