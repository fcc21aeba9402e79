// Memory and copies of the runtime. An asynchronous copy from memory that is not pinned reads its source before the
// call returns, and one to such memory is complete when the call returns: NCCL passes addresses of local variables.
#include <unistd.h>
#include <atomic>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/abi.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "cuda/stream.h"

namespace mrc::nccl_rig::cuda {

namespace {

bool pinned(const void* address) {
  Range range;
  return find(address, &range);
}

Error malloc_device(void** address, size_t size) {
  *address = allocate(size, true, current_device());
  return *address ? kSuccess : kOutOfMemory;
}
Error free_device(void* address) {
  return address == nullptr || release(address) ? kSuccess : kInvalidValue;
}
Error host_alloc(void** address, size_t size, unsigned) {
  *address = allocate(size, false, current_device());
  return *address ? kSuccess : kOutOfMemory;
}
Error host_register(void* address, size_t size, unsigned) {
  register_host(address, size);
  return kSuccess;
}
Error host_unregister(void* address) {
  return unregister_host(address) ? kSuccess : kInvalidValue;
}
Error host_get_device_pointer(void** device, void* host, unsigned) {
  *device = host;
  return kSuccess;
}
Error pointer_get_attributes(PointerAttributes* attributes, const void* address) {
  memset(attributes, 0, sizeof *attributes);
  Range range;
  const bool known = find(address, &range);
  attributes->type = !known ? kUnregistered : range.device ? kDevice : kHost;
  attributes->device = known ? range.device_number : -2;
  attributes->device_pointer = known ? const_cast<void*>(address) : nullptr;
  attributes->host_pointer = known && !range.device ? const_cast<void*>(address) : nullptr;
  return kSuccess;
}

Error memcpy_async(void* to, const void* from, size_t size, int, void* stream) {
  if (size == 0) return kSuccess;
  Stream& s = stream_of(stream);
  if (pinned(from)) {
    s.queue([=] { memcpy(to, from, size); });
  } else {
    const auto* bytes = static_cast<const char*>(from);
    auto copy = std::make_shared<std::vector<char>>(bytes, bytes + size);
    s.queue([=] { memcpy(to, copy->data(), size); });
  }
  if (!pinned(to)) s.synchronize();
  return kSuccess;
}
Error memcpy_now(void* to, const void* from, size_t size, int) {
  stream_of(nullptr).synchronize();
  memcpy(to, from, size);
  return kSuccess;
}
Error memset_async(void* to, int value, size_t size, void* stream) {
  stream_of(stream).queue([=] { memset(to, value, size); });
  return kSuccess;
}
Error memset_now(void* to, int value, size_t size) {
  stream_of(nullptr).synchronize();
  memset(to, value, size);
  return kSuccess;
}

Error mem_pool_create(void** pool, const void*) {
  *pool = new char;
  return kSuccess;
}
Error mem_pool_destroy(void* pool) {
  delete static_cast<char*>(pool);
  return kSuccess;
}
Error mem_pool_set_attribute(void*, int, void*) {
  return kSuccess;
}
Error malloc_from_pool_async(void** address, size_t size, void*, void*) {
  return malloc_device(address, size);
}
Error malloc_async(void** address, size_t size, void*) {
  return malloc_device(address, size);
}
Error free_async(void* address, void* stream) {
  stream_of(stream).queue([=] { release(address); });
  return kSuccess;
}

// Memory that devices reach in each other (NCCL_RIG_P2P) is that of one process.
struct IpcHandle {
  pid_t process;
  void* address;
  char rest[48];
};
static_assert(sizeof(IpcHandle) == 64);
Error ipc_get(IpcHandle* handle, void* address) {
  *handle = {getpid(), address, {}};
  return getenv("NCCL_RIG_P2P") != nullptr ? kSuccess : kNotSupported;
}
Error ipc_open(void** address, IpcHandle handle, unsigned) {
  *address = handle.address;
  return handle.process == getpid() ? kSuccess : kNotSupported;
}
Error ipc_close(void*) {
  return kSuccess;
}

}  // namespace

std::span<const Call> memory_calls() {
  static const Call calls[] = {
      call("cudaMalloc", malloc_device),
      call("cudaFree", free_device),
      call("cudaHostAlloc", host_alloc),
      call("cudaFreeHost", free_device),
      call("cudaHostRegister", host_register),
      call("cudaHostUnregister", host_unregister),
      call("cudaHostGetDevicePointer", host_get_device_pointer),
      call("cudaPointerGetAttributes", pointer_get_attributes),
      call("cudaMemcpy", memcpy_now),
      call("cudaMemcpyAsync", memcpy_async),
      call("cudaMemset", memset_now),
      call("cudaMemsetAsync", memset_async),
      call("cudaMemPoolCreate", mem_pool_create),
      call("cudaMemPoolDestroy", mem_pool_destroy),
      call("cudaMemPoolSetAttribute", mem_pool_set_attribute),
      call("cudaMallocFromPoolAsync", malloc_from_pool_async),
      call("cudaMallocAsync", malloc_async),
      call("cudaFreeAsync", free_async),
      call("cudaIpcGetMemHandle", ipc_get),
      call("cudaIpcOpenMemHandle", ipc_open),
      call("cudaIpcCloseMemHandle", ipc_close),
  };
  return calls;
}

}  // namespace mrc::nccl_rig::cuda
