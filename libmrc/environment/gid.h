// GIDs in the form of verbs.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace mrc {

// True of an entry of a device's table that holds no GID.
inline bool is_zero(const ibv_gid& gid) {
  return std::all_of(std::begin(gid.raw), std::end(gid.raw), [](uint8_t b) { return b == 0; });
}

}  // namespace mrc
