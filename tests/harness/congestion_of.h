// For tests over congestion control algorithms: a profile with an algorithm's defaults, and its name in messages.
#pragma once

#include <memory>
#include <ostream>

#include "core/congestion/registry.h"

namespace mrc::core {

inline std::shared_ptr<const CongestionConfig> congestion_of(const char* algorithm) {
  auto made = std::make_shared<CongestionConfig>();
  made->algorithm = find_congestion_algorithm(algorithm);
  return made;
}

inline void PrintTo(const CongestionAlgorithm* a, std::ostream* out) {
  *out << a->name;
}

}  // namespace mrc::core
