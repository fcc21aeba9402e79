// Output of an array by a query: into the caller's array, whose length is set to the actual length. E2BIG when it
// is too short, with only the required length written. [MRC-CTL-3]
#pragma once

#include <algorithm>
#include <cerrno>
#include <climits>
#include <vector>

namespace mrc::ctl {

template <typename T>
int array_out(const std::vector<T>& from, T* to, int* count) {
  const int room = *count;
  if (room < 0 || from.size() > INT_MAX) return EINVAL;
  *count = static_cast<int>(from.size());
  if (static_cast<size_t>(room) < from.size()) return E2BIG;
  if (to == nullptr && !from.empty()) return EINVAL;
  std::copy(from.begin(), from.end(), to);
  return 0;
}

}  // namespace mrc::ctl
