// One line of text per packet, all fields, for traces and tools. The layout is for people and may change.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "wire/packet.h"

namespace mrc::wire {

std::string to_text(const Packet& packet);

// An EV as people read and write it: a source port (49152), or a flow label with a source port (0x0003:49152).
std::string ev_text(uint32_t ev);

// Decodes and prints; undecodable bytes give the error's name and the first bytes in hex.
std::string bytes_to_text(std::span<const uint8_t> bytes);

}  // namespace mrc::wire
