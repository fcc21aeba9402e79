#include "gpu_memory.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace mrc::nccl {

namespace {

constexpr uintptr_t kGpuPage = 64 << 10;  // what gdrcopy pins is whole pages of a GPU

uintptr_t down_to(uintptr_t address, uintptr_t page) {
  return address / page * page;
}

template <typename Function>
bool find(void* library, const char* name, Function** to) {
  *to = reinterpret_cast<Function*>(dlsym(library, name));
  return *to != nullptr;
}

}  // namespace

// gdr_mh_t is a structure of one unsigned long, which is passed as one.
struct Gdr::Calls {
  void* (*open)();
  int (*close)(void* gdr);
  int (*pin_buffer)(void* gdr, unsigned long address, size_t size, uint64_t token, uint32_t space,
                    unsigned long* handle);
  int (*unpin_buffer)(void* gdr, unsigned long handle);
  int (*map)(void* gdr, unsigned long handle, void** mapped, size_t size);
  int (*unmap)(void* gdr, unsigned long handle, void* mapped, size_t size);
  int (*copy_from_mapping)(unsigned long handle, void* to, const void* mapped, size_t size);

  bool find_all(void* library) {
    return find(library, "gdr_open", &open) && find(library, "gdr_close", &close) &&
           find(library, "gdr_pin_buffer", &pin_buffer) && find(library, "gdr_unpin_buffer", &unpin_buffer) &&
           find(library, "gdr_map", &map) && find(library, "gdr_unmap", &unmap) &&
           find(library, "gdr_copy_from_mapping", &copy_from_mapping);
  }
};

Result<std::unique_ptr<Gdr>> Gdr::open() {
  void* const library = dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_LOCAL);  // stays: mappings outlive a communicator
  if (library == nullptr) return Error{ENOENT, "libgdrapi.so.2 is not there"};
  std::unique_ptr<Gdr> made(new Gdr);
  made->calls_ = std::make_unique<Calls>();
  if (!made->calls_->find_all(library)) return Error{ELIBBAD, "libgdrapi.so.2 lacks a function of gdrcopy 2"};
  made->gdr_ = made->calls_->open();
  if (made->gdr_ == nullptr) return Error{ENODEV, "gdr_open fails: is the kernel module gdrdrv loaded?"};
  return made;
}

Gdr::~Gdr() {
  if (gdr_ != nullptr) calls_->close(gdr_);
}

Result<std::unique_ptr<GpuMapping>> Gdr::map(void* data, size_t size) const {
  const uintptr_t begin = down_to(reinterpret_cast<uintptr_t>(data), kGpuPage);
  const uintptr_t end = down_to(reinterpret_cast<uintptr_t>(data) + size + kGpuPage - 1, kGpuPage);
  std::unique_ptr<GpuMapping> made(new GpuMapping);
  const MutexLock lock(mutex_);
  if (const int error = calls_->pin_buffer(gdr_, begin, end - begin, 0, 0, &made->handle_); error != 0)
    return failed_call("gdr_pin_buffer", error);
  if (const int error = calls_->map(gdr_, made->handle_, &made->mapped_, end - begin); error != 0) {
    calls_->unpin_buffer(gdr_, made->handle_);
    made->mapped_ = nullptr;
    return failed_call("gdr_map", error);
  }
  made->gdr_ = this;
  made->base_ = reinterpret_cast<const char*>(begin);
  made->size_ = end - begin;
  return made;
}

void Gdr::release(const GpuMapping& mapping) const {
  const MutexLock lock(mutex_);
  calls_->unmap(gdr_, mapping.handle_, mapping.mapped_, mapping.size_);
  calls_->unpin_buffer(gdr_, mapping.handle_);
}

Result<std::unique_ptr<GpuMapping>> GpuMapping::of_dma_buf(void* data, size_t size, uint64_t offset, int fd) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = down_to(offset, page), before = offset - begin;
  void* const mapped = mmap(nullptr, before + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(begin));
  if (mapped == MAP_FAILED) return failed_call("the driver maps no dma-buf for the CPU");
  std::unique_ptr<GpuMapping> made(new GpuMapping);
  made->base_ = static_cast<const char*>(data) - before;
  made->mapped_ = mapped;
  made->size_ = before + size;
  return made;
}

GpuMapping::~GpuMapping() {
  if (gdr_ != nullptr) gdr_->release(*this);
  if (gdr_ == nullptr && mapped_ != nullptr) munmap(mapped_, size_);
}

void GpuMapping::read(void* to, const void* data, size_t size) const {
  if (gdr_ != nullptr) {
    gdr_->calls_->copy_from_mapping(handle_, to, at(data), size);
  } else {
    std::memcpy(to, at(data), size);
  }
}

// A read over PCIe follows the writes before it. They have left the processor that stored them: the fence here is for
// this one, and a device takes a lock between the data and their completion, which empties its write buffers.
void GpuMapping::flush(const void* data) const {
  __sync_synchronize();  // std::atomic_thread_fence, which ThreadSanitizer refuses
  static_cast<void>(*static_cast<volatile const char*>(at(data)));
}

}  // namespace mrc::nccl
