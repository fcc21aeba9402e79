// The parts of a path, as they stand between its slashes: with empty ones, "." and "..". A slash at the end is followed
// by none. Split by hand: a preloaded library has few dependencies, and links nothing of abseil.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace mrc::shim {

inline std::vector<std::string> path_parts(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return parts;
}

}  // namespace mrc::shim
