// The pass over a packet's payload that the ICRC takes: the engine's own, or one way alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace udp_limit {

enum class Crc : uint8_t { kNone, kMrc, kFold256, kFold512 };

// The words of --crc, in the order of the values.
const std::vector<std::string>& crc_words();

// Ends the program with a message where this processor lacks the instructions.
Crc crc_of(const std::string& word);

// The CRC-32 of the bytes, which are copied to `to` on the way unless that is null. kNone: 0, the copy alone. What is
// too short to be folded, less than 16 bytes, is left to the engine's way.
uint32_t pass_over(Crc way, const void* data, size_t len, void* to = nullptr);

}  // namespace udp_limit
