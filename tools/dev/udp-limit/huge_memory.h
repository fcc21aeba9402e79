// Memory in huge pages.
#pragma once

#include <cstdint>

namespace udp_limit {

inline constexpr uint64_t kHugePage = 2 << 20;

constexpr uint64_t whole_huge_pages(uint64_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

// Of the host's reserved huge pages (MAP_HUGETLB) where it has enough of them, else transparent ones (MADV_HUGEPAGE).
// `bytes` is a multiple of kHugePage; munmap() returns it. Null: there is no memory.
uint8_t* map_huge_memory(uint64_t bytes);

}  // namespace udp_limit
