// SendSlots: the taken places of a send queue as verbs count them. Posting takes one; the poll of a completion frees
// those that it covers: its own and those of the unsignalled requests before it [API-POST-3]. That is later than the
// request ends, so an engine's queue, which is bounded by itself, has fewer entries. Posting is serialised by its
// caller's lock; polling frees without it.
#pragma once

#include <atomic>
#include <cstdint>

namespace mrc {

class SendSlots {
 public:
  // Room for so many more.
  bool has_room(uint32_t count, uint32_t max) const { return taken_.load(std::memory_order_acquire) + count <= max; }
  bool take(uint32_t max) {
    if (!has_room(1, max)) return false;
    taken_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void release(uint32_t count) { taken_.fetch_sub(count, std::memory_order_release); }
  // Of a queue that begins anew: what was posted before is forgotten, its completions are purged.
  void clear() { taken_.store(0); }

 private:
  std::atomic<uint32_t> taken_{0};
};

}  // namespace mrc
