#include "harness/counted_new.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace mrc::alloc {
namespace {
thread_local int depth = 0;
uint64_t fail_mask = 0, fail_first = 0, armed = 0, failed = 0;
std::atomic<int64_t> live{0};

bool refuse() {
  if (depth == 0) return false;
  const uint64_t k = armed++;
  const bool no = k >= fail_first && k - fail_first < 64 && ((fail_mask >> (k - fail_first)) & 1);
  failed += no;
  return no;
}

void* get(std::size_t size, std::size_t alignment) {
  if (refuse()) return nullptr;
  const std::size_t rounded = (size + alignment) & ~(alignment - 1);
  void* p = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded) : std::malloc(rounded);
  live += p != nullptr;
  return p;
}

void put(void* p) {
  live -= p != nullptr;
  std::free(p);
}
}  // namespace

void set_failures(uint64_t mask, uint64_t first) {
  fail_mask = mask;
  fail_first = first;
  armed = failed = 0;
}
uint64_t armed_allocations() {
  return armed;
}
uint64_t failed_allocations() {
  return failed;
}
int64_t live_blocks() {
  return live;
}
Armed::Armed() {
  ++depth;
}
Armed::~Armed() {
  --depth;
}
Disarmed::Disarmed() : depth_(depth) {
  depth = 0;
}
Disarmed::~Disarmed() {
  depth = depth_;
}

}  // namespace mrc::alloc

// The other forms of the standard library come down to these; those that throw nothing, too, but sanitizers have their
// own.
void* operator new(std::size_t size) {
  void* p = mrc::alloc::get(size, alignof(std::max_align_t));
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* p = mrc::alloc::get(size, static_cast<std::size_t>(alignment));
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* operator new[](std::size_t size) {
  return operator new(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return mrc::alloc::get(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size, const std::nothrow_t& none) noexcept {
  return operator new(size, none);
}
void operator delete(void* p) noexcept {
  mrc::alloc::put(p);
}
void operator delete(void* p, std::size_t) noexcept {
  mrc::alloc::put(p);
}
void operator delete[](void* p) noexcept {
  mrc::alloc::put(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  mrc::alloc::put(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  mrc::alloc::put(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  mrc::alloc::put(p);
}
