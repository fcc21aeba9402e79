// A congestion control profile of an algorithm with its defaults, for QpAttr::congestion.
#pragma once

#include <memory>

#include "core/congestion/registry.h"

namespace mrc::core {

inline std::shared_ptr<const CongestionConfig> congestion_of(const char* algorithm) {
  auto made = std::make_shared<CongestionConfig>();
  made->algorithm = find_congestion_algorithm(algorithm);
  return made;
}

}  // namespace mrc::core
