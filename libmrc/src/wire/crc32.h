// CRC-32 of IEEE 802.3, the polynomial of the ICRC, at the speed of the available processor.
//
// ISA-L has it with 512-bit registers (65 GB/s in cache) and with 128-bit ones (12 GB/s), but nothing between: on
// processors that have VPCLMULQDQ without AVX-512, such as AMD's Zen 3, the ICRC would cost a third of a sender's time.
// There the message is folded here with 256-bit registers (about 25 GB/s). A copy and its CRC are made in one pass with
// 512-bit registers where there are some: it takes two thirds of the time of a copy and ISA-L's pass over it (4 KiB on
// Zen 4: 123 ns beside 180). All other processors, and every short piece, are left to ISA-L.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace mrc::wire {

// Continues `crc` (0 at the start) over `len` bytes; the result is the usual CRC-32, final inversion included.
uint32_t crc32(uint32_t crc, const void* data, size_t len);

// The same, and a copy of the bytes at `to`, which may not overlap them; in one pass where the processor folds. The
// CRC is that of the copy, whatever another thread writes to `data` meanwhile: each byte there is read once.
uint32_t crc32_copy(uint32_t crc, void* to, const void* data, size_t len);

// For tests and for mrc-udp-limit: the folding alone, whether or not this processor prefers it. None: it cannot, or
// there are less than 16 bytes.
std::optional<uint32_t> crc32_folded(uint32_t crc, const void* data, size_t len, void* copy = nullptr);

// The same with 512-bit registers, where the processor has both.
std::optional<uint32_t> crc32_folded_wide(uint32_t crc, const void* data, size_t len, void* copy = nullptr);

}  // namespace mrc::wire
