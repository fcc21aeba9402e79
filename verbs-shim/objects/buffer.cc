#include "objects/buffer.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>

#include "mutex.h"

namespace mrc::shim {

namespace {

struct Buffer {
  const ibv_pd* pd;
  uint8_t* base;
  size_t size;
};

Mutex mutex;
std::map<const ibv_buf*, std::unique_ptr<Buffer>>& buffers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  static auto* all = new std::map<const ibv_buf*, std::unique_ptr<Buffer>>;  // programs free buffers while they exit
  return *all;
}

}  // namespace

void* allocate_buffer(const ibv_pd* pd, size_t size, ibv_buf** buf) {
  if (size == 0) {
    errno = EINVAL;
    return nullptr;
  }
  void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  auto made = std::make_unique<Buffer>(Buffer{pd, static_cast<uint8_t*>(base), size});
  *buf = reinterpret_cast<ibv_buf*>(made.get());
  const MutexLock lock(mutex);
  buffers()[*buf] = std::move(made);
  return base;
}

bool is_our_buffer(const ibv_buf* buf) {
  const MutexLock lock(mutex);
  return buffers().count(buf) != 0;
}

bool buffer_contains(const ibv_pd* pd, const ibv_buf* buf, const void* addr, size_t length) {
  const MutexLock lock(mutex);
  const auto found = buffers().find(buf);
  if (found == buffers().end() || found->second->pd != pd) return false;
  const uintptr_t base = reinterpret_cast<uintptr_t>(found->second->base);
  const uintptr_t at = reinterpret_cast<uintptr_t>(addr);
  return at >= base && at - base <= found->second->size && length <= found->second->size - (at - base);
}

void free_buffer(ibv_buf* buf) {
  const MutexLock lock(mutex);
  const auto found = buffers().find(buf);
  if (found == buffers().end()) return;
  munmap(found->second->base, found->second->size);
  buffers().erase(found);
}

}  // namespace mrc::shim
