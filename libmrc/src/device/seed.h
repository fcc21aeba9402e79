// The seed of what a device draws: the configured one, with which a run can be repeated, or a new one at every call.
#pragma once

#include <cstdint>
#include <random>

#include "device/settings.h"

namespace mrc::device {

inline uint64_t seed_of(const Settings& s, uint32_t shard) {
  if (s.seed != 0) return static_cast<uint64_t>(s.seed) + shard;
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

}  // namespace mrc::device
