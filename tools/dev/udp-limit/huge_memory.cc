#include "huge_memory.h"

#include <sys/mman.h>

#include <cstring>

namespace udp_limit {

uint8_t* map_huge_memory(uint64_t bytes) {
  constexpr int kProtection = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* const reserved = ::mmap(nullptr, bytes, kProtection, kFlags | MAP_HUGETLB | MAP_POPULATE, -1, 0);
  if (reserved != MAP_FAILED) return static_cast<uint8_t*>(reserved);
  void* const wide = ::mmap(nullptr, bytes + kHugePage, kProtection, kFlags, -1, 0);
  if (wide == MAP_FAILED) return nullptr;
  // Only what is aligned remains: transparent huge pages are.
  auto* const begin = static_cast<uint8_t*>(wide);
  const uint64_t before = whole_huge_pages(reinterpret_cast<uint64_t>(begin)) - reinterpret_cast<uint64_t>(begin);
  if (before != 0) ::munmap(begin, before);
  if (before != kHugePage) ::munmap(begin + before + bytes, kHugePage - before);
  ::madvise(begin + before, bytes, MADV_HUGEPAGE);
  std::memset(begin + before, 0, bytes);
  return begin + before;
}

}  // namespace udp_limit
