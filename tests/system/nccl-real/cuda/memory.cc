#include "cuda/memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

namespace mrc::nccl_rig::cuda {

namespace {

constexpr size_t kGpuPage = 64 << 10;

struct Allocation {
  Range range;
  void* mapping = nullptr;  // nullptr: registered memory of another owner
  size_t mapped = 0;
};

std::mutex mutex;
std::map<uintptr_t, Allocation>& allocations() {           // by base
  static auto* all = new std::map<uintptr_t, Allocation>;  // outlives NCCL's own destructors
  return *all;
}
size_t live = 0;

void on_fault(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  bool found = false;
  std::unique_lock lock(mutex, std::try_to_lock);  // not where the faulting code holds it
  if (lock)
    for (const auto& [base, a] : allocations())
      if (address - reinterpret_cast<uintptr_t>(a.mapping) < a.mapped) {
        dprintf(STDERR_FILENO, "nccl-rig: SIGSEGV at byte %td of an allocation of %zu bytes\n",
                static_cast<ptrdiff_t>(address - base), a.range.size);
        found = true;
      }
  if (!found) dprintf(STDERR_FILENO, "nccl-rig: SIGSEGV at %p, in no allocation of the rig\n", info->si_addr);
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);  // pending until this returns
}

}  // namespace

void* allocate(size_t size, bool device, int device_number) {
  // The pages of GPUs are of 64 KiB, and are what gdrcopy pins. Shared, so that gdrapi.cc can map them again.
  const size_t page = device && size >= kGpuPage ? kGpuPage : static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t rounded = (size + 255) & ~size_t{255};
  const size_t pages = (rounded + page - 1) / page * page;
  void* mapping = mmap(nullptr, pages + 3 * page, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  const uintptr_t above = reinterpret_cast<uintptr_t>(mapping) + page;
  char* first = reinterpret_cast<char*>((above + page - 1) / page * page);
  if (mprotect(first, pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, pages + 3 * page);
    return nullptr;
  }
  // Large allocations begin at a page, as CUDA's do: NCCL registers them by pages.
  char* base = size >= page ? first : first + pages - rounded;
  if (device) memset(base, kPoison, rounded);
  std::lock_guard lock(mutex);
  allocations()[reinterpret_cast<uintptr_t>(base)] = {{base, size, device, device_number}, mapping, pages + 3 * page};
  ++live;
  return base;
}

bool release(void* base) {
  std::unique_lock lock(mutex);
  auto it = allocations().find(reinterpret_cast<uintptr_t>(base));
  if (it == allocations().end() || it->second.mapping == nullptr) return false;
  const Allocation gone = it->second;
  allocations().erase(it);
  --live;
  lock.unlock();
  munmap(gone.mapping, gone.mapped);
  return true;
}

void register_host(void* base, size_t size) {
  std::lock_guard lock(mutex);
  allocations()[reinterpret_cast<uintptr_t>(base)] = {{base, size, false, 0}, nullptr, 0};
}

bool unregister_host(void* base) {
  std::lock_guard lock(mutex);
  auto it = allocations().find(reinterpret_cast<uintptr_t>(base));
  if (it == allocations().end() || it->second.mapping != nullptr) return false;
  allocations().erase(it);
  return true;
}

bool find(const void* address, Range* range) {
  const auto where = reinterpret_cast<uintptr_t>(address);
  std::lock_guard lock(mutex);
  auto it = allocations().upper_bound(where);
  if (it == allocations().begin()) return false;
  --it;
  if (where - it->first >= it->second.range.size && where != it->first) return false;
  *range = it->second.range;
  return true;
}

size_t live_allocations() {
  std::lock_guard lock(mutex);
  return live;
}

void report_faults() {
  struct sigaction action {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

}  // namespace mrc::nccl_rig::cuda
