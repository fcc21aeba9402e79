// Memory of the stand-in's devices: pages of their own between two guard pages, so that an access beyond them or after the
// free ends the process by SIGSEGV. Device memory is poisoned. Thread-safe.
#pragma once

#include <cstddef>

namespace mrc::nccl_rig::cuda {

struct Range {
  void* base;
  size_t size;
  bool device;   // else memory of the host that is pinned or registered
  int device_number;
};

constexpr unsigned char kPoison = 0xa5;

// nullptr: no memory. The end is 256-byte aligned and lies at the guard page.
void* allocate(size_t size, bool device, int device_number);
// False: no such allocation.
bool release(void* base);
void register_host(void* base, size_t size);
bool unregister_host(void* base);
// The allocation or registration that holds the address; false: none.
bool find(const void* address, Range* range);
// Bytes and number of allocations that were not freed.
size_t live_allocations();

}  // namespace mrc::nccl_rig::cuda
