// One of the four rings that a process shares with the kernel for an AF_XDP socket: a producer's and a consumer's
// index, each written by one side, and entries between.
#pragma once

#include <linux/if_xdp.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>

#include "invariant.h"

namespace mrc::datapath {

template <typename Entry>
class XskRing {
 public:
  XskRing() = default;
  ~XskRing() {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
  }
  XskRing(const XskRing&) = delete;

  // `offsets` is a xdp_ring_offset, `entries` a power of two. False: errno.
  template <typename Offsets>
  bool map(int fd, uint64_t page_offset, const Offsets& offsets, uint32_t entries) {
    MRC_INVARIANT(entries > 0 && (entries & (entries - 1)) == 0);
    bytes_ = offsets.desc + entries * sizeof(Entry);
    void* p =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(page_offset));
    if (p == MAP_FAILED) return false;
    memory_ = p;
    auto* base = static_cast<uint8_t*>(p);
    producer_ = reinterpret_cast<std::atomic<uint32_t>*>(base + offsets.producer);
    consumer_ = reinterpret_cast<std::atomic<uint32_t>*>(base + offsets.consumer);
    flags_ = reinterpret_cast<std::atomic<uint32_t>*>(base + offsets.flags);
    entries_ = reinterpret_cast<Entry*>(base + offsets.desc);
    size_ = entries;
    return true;
  }

  // As the producer. Not checked: the kernel may hand on an entry before it counts it as taken.
  uint32_t room() const { return size_ - left(); }
  Entry& next() { return entries_[ahead_++ & (size_ - 1)]; }
  void submit() { producer_->store(ahead_, std::memory_order_release); }
  // Entries that the kernel has not taken yet, submitted or not.
  uint32_t left() const { return ahead_ - consumer_->load(std::memory_order_acquire); }
  // The kernel takes entries at a system call alone. Read after submit().
  bool needs_wakeup() const {
    __sync_synchronize();  // std::atomic_thread_fence, which ThreadSanitizer refuses
    return (flags_->load(std::memory_order_relaxed) & XDP_RING_NEED_WAKEUP) != 0;
  }

  // As the consumer.
  uint32_t waiting() const { return producer_->load(std::memory_order_acquire) - ahead_; }
  const Entry& peek(uint32_t further) const { return entries_[(ahead_ + further) & (size_ - 1)]; }
  void done(uint32_t count) {
    MRC_INVARIANT(count <= waiting());
    ahead_ += count;
    consumer_->store(ahead_, std::memory_order_release);
  }

 private:
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  void* memory_ = nullptr;
  size_t bytes_ = 0;
  std::atomic<uint32_t>* producer_ = nullptr;
  std::atomic<uint32_t>* consumer_ = nullptr;
  std::atomic<uint32_t>* flags_ = nullptr;
  Entry* entries_ = nullptr;
  uint32_t size_ = 0;
  uint32_t ahead_ = 0;  // our own index
};

}  // namespace mrc::datapath
