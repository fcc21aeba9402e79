// Reads /proc/self/maps. mincore() was tried: its cost grows with the region (a page walk), and it does not report
// whether the memory may be written.
#include "api/mapped_memory.h"

#include <cinttypes>
#include <cstdio>
#include <memory>

namespace mrc::api {

bool memory_mapped(uint64_t start, size_t length, bool writable) {
  std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), &std::fclose);
  if (!maps) return true;
  const uint64_t end = start + length;
  uint64_t covered = start;  // everything in [start, covered) is fine
  char line[4352];           // addresses, permissions and a path
  while (covered < end && std::fgets(line, sizeof line, maps.get()) != nullptr) {
    uint64_t low, high;
    char read, write;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c", &low, &high, &read, &write) != 4) continue;
    if (high <= covered) continue;
    if (low > covered) return false;  // the list is sorted: a hole
    if (read != 'r' || (writable && write != 'w')) return false;
    covered = high;
  }
  return covered >= end;
}

}  // namespace mrc::api
