// A stand-in for gdrcopy's libgdrapi.so.2 in the rig: the device memory of cuda/memory.cc, which is shared, is mapped a
// second time.
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

std::atomic<long> pinned{0}, pinned_ever{0};
std::atomic<uint64_t> read_bytes{0};

// The last words of a rank's run.
struct AtEnd {
  ~AtEnd() {
    fprintf(stderr, "# gdrcopy: %ld buffers pinned, %ld of them still, %lu bytes read\n", pinned_ever.load(),
            pinned.load(), static_cast<unsigned long>(read_bytes.load()));
  }
} at_end;

}  // namespace

extern "C" {

void* gdr_open() {
  return &pinned;
}
int gdr_close(void*) {
  return 0;
}

int gdr_pin_buffer(void*, unsigned long address, size_t, uint64_t, uint32_t, unsigned long* handle) {
  *handle = address;
  ++pinned, ++pinned_ever;
  return 0;
}
int gdr_unpin_buffer(void*, unsigned long) {
  --pinned;
  return 0;
}

int gdr_map(void*, unsigned long handle, void** to, size_t size) {
  *to = mremap(reinterpret_cast<void*>(handle), 0, size, MREMAP_MAYMOVE);
  return *to == MAP_FAILED ? errno : 0;
}
int gdr_unmap(void*, unsigned long, void* mapped, size_t size) {
  return munmap(mapped, size);
}

int gdr_copy_from_mapping(unsigned long, void* to, const void* from, size_t size) {
  memcpy(to, from, size);
  read_bytes += size;
  return 0;
}
}
