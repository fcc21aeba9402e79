// A stand-in for gdrcopy's libgdrapi.so.2 and the GPU behind it: device memory cannot be touched at its address
// (PROT_NONE), only through a mapping of what is pinned. Addresses and sizes must be those of whole 64 KiB pages.
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>

namespace {

constexpr size_t kPage = 64 << 10;

struct Pinned {
  int fd;
  off_t offset;
  size_t size;
};

std::mutex mutex;
std::map<uintptr_t, std::pair<size_t, int>> devices;  // base -> size, memory file
std::map<unsigned long, Pinned> pinned;
unsigned long last_handle = 0;
int mapped = 0;
char gdr;

}  // namespace

extern "C" {

void* standin_gpu_allocate(size_t size) {
  const size_t whole = (size + kPage - 1) / kPage * kPage;
  const int fd = memfd_create("gpu", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(whole)) != 0) return nullptr;
  void* const room = mmap(nullptr, whole + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const uintptr_t base = (reinterpret_cast<uintptr_t>(room) + kPage - 1) / kPage * kPage;
  const std::lock_guard lock(mutex);
  devices[base] = {whole, fd};
  return reinterpret_cast<void*>(base);
}

int standin_gpu_file(void* base) {
  const std::lock_guard lock(mutex);
  return devices.at(reinterpret_cast<uintptr_t>(base)).second;
}

// Pins and mappings that are not released.
int standin_gdr_live() {
  const std::lock_guard lock(mutex);
  return mapped + static_cast<int>(pinned.size());
}

void* gdr_open() {
  return &gdr;
}
int gdr_close(void*) {
  return 0;
}

int gdr_pin_buffer(void*, unsigned long address, size_t size, uint64_t, uint32_t, unsigned long* handle) {
  const std::lock_guard lock(mutex);
  auto device = devices.upper_bound(address);
  if (address % kPage != 0 || size % kPage != 0 || device == devices.begin()) return EINVAL;
  --device;
  const auto& [whole, fd] = device->second;
  if (address + size > device->first + whole) return EINVAL;
  *handle = ++last_handle;
  pinned[*handle] = {fd, static_cast<off_t>(address - device->first), size};
  return 0;
}
int gdr_unpin_buffer(void*, unsigned long handle) {
  const std::lock_guard lock(mutex);
  return pinned.erase(handle) == 1 ? 0 : EINVAL;
}

int gdr_map(void*, unsigned long handle, void** to, size_t size) {
  const std::lock_guard lock(mutex);
  const auto found = pinned.find(handle);
  if (found == pinned.end() || size != found->second.size) return EINVAL;
  *to = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, found->second.fd, found->second.offset);
  if (*to == MAP_FAILED) return errno;
  ++mapped;
  return 0;
}
int gdr_unmap(void*, unsigned long, void* at, size_t size) {
  const std::lock_guard lock(mutex);
  --mapped;
  return munmap(at, size);
}

int gdr_copy_from_mapping(unsigned long, void* to, const void* from, size_t size) {
  memcpy(to, from, size);
  return 0;
}
}
