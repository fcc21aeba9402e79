// Numbers that packets carry and that must not be taken for each other.
#pragma once

#include <cstdint>

#include "base/strong_id.h"

namespace mrc {

// Number of a queue pair, 24 bits; 0 in trace events of the whole endpoint.
using Qpn = StrongId<struct QpnTag, uint32_t>;

// Key of a memory region, local or remote; 0 is none.
using Key = StrongId<struct KeyTag, uint32_t>;

}  // namespace mrc
