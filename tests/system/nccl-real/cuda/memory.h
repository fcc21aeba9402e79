// Memory of the stand-in's devices: pages of their own between two guard pages, so that an access beyond them or after
// the free ends the process by SIGSEGV. Device memory is poisoned. Thread-safe.
#pragma once

#include <cstddef>

namespace mrc::nccl_rig::cuda {

struct Range {
  void* base;
  size_t size;
  bool device;  // else memory of the host that is pinned or registered
  int device_number;
};

constexpr unsigned char kPoison = 0xa5;

// Returns nullptr where there is no memory. Less than a page ends at the guard page, but for the alignment of 256
// bytes; more begins at a page.
void* allocate(size_t size, bool device, int device_number);
// False: no such allocation.
bool release(void* base);
void register_host(void* base, size_t size);
bool unregister_host(void* base);
// The allocation or registration that holds the address; false: none.
bool find(const void* address, Range* range);
// Number of allocations that are not freed yet.
size_t live_allocations();
// From now on a SIGSEGV first names, on standard error, the allocation whose guard pages hold the address. It ends the
// process as before. Handlers that are installed later come first.
void report_faults();

}  // namespace mrc::nccl_rig::cuda
