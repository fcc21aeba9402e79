// TraceRing: the events between the engine, which adds them, and the thread that writes them to a file. Of fixed size,
// and adding never waits: no allocation, no lock, no system call. When the ring is full, events are lost and counted,
// and the next event that is kept tells how many are missing before it. One thread at a time adds, and one takes.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/trace.h"

namespace mrc::device {

class TraceRing {
 public:
  struct Slot {
    core::TraceEntry entry;
    uint64_t lost_before = 0;  // events that found no room between the entry before and this one
  };

  explicit TraceRing(size_t min_entries)
      : mask_(std::bit_ceil(min_entries) - 1), slots_(std::make_unique<Slot[]>(mask_ + 1)) {}

  void add(const core::TraceEntry& entry) {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_seen_ > mask_) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head - tail_seen_ > mask_) {
        lost_.fetch_add(1, std::memory_order_relaxed);
        ++lost_since_;
        return;
      }
    }
    slots_[head & mask_] = {entry, lost_since_};
    lost_since_ = 0;
    head_.store(head + 1, std::memory_order_release);
  }
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }  // since the beginning

  // For the thread that takes: the number of events, and the oldest of them.
  uint64_t waiting() const { return head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_relaxed); }
  const Slot& front() const { return slots_[tail_.load(std::memory_order_relaxed) & mask_]; }
  void pop() { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  const uint64_t mask_;
  const std::unique_ptr<Slot[]> slots_;
  uint64_t tail_seen_ = 0;   // add()'s copy of tail_
  uint64_t lost_since_ = 0;  // the last event that was kept
  alignas(64) std::atomic<uint64_t> head_{0};
  std::atomic<uint64_t> lost_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace mrc::device
