// EarlyPayloads: payloads of one QP that arrived before an earlier packet, for QPs whose packets are written to memory
// in the order in which they were sent [MRC-RSP-15]. Programs for verbs overwrite one place by several writes, and poll
// memory for a later write before they read what an earlier one brought.
//
// A payload is copied once more than where packets are written on arrival. The copies, and the places where they wait,
// come from a pool that all QPs of an engine share: those of the last reordering are still in the processor's cache,
// and a QP without early payloads has none. Alternative: to write on arrival and skip what a later packet has written
// already. That keeps what memory contains in the end, for a search among the later packets, but not the order in which
// it appears.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "invariant.h"

namespace mrc::core {

struct EarlyPayload {
  uint64_t va = 0;  // destination
  Key rkey;
  std::vector<uint8_t> bytes;
};

class EarlyPayloadPool {
 public:
  using Window = std::vector<std::unique_ptr<EarlyPayload>>;  // places by sequence number, empty ones are null

  // Throws std::bad_alloc.
  std::unique_ptr<EarlyPayload> take() {
    if (free_.empty()) {
      free_.reserve(kMaxKept);
      return std::make_unique<EarlyPayload>();
    }
    std::unique_ptr<EarlyPayload> last = std::move(free_.back());
    free_.pop_back();
    return last;
  }
  void give(std::unique_ptr<EarlyPayload> payload) {
    if (free_.size() < kMaxKept) free_.push_back(std::move(payload));
  }
  size_t kept() const { return free_.size(); }
  // Of empty places. Throws std::bad_alloc.
  Window take_window(size_t places) {
    for (Window& kept : windows_) {
      if (kept.size() != places) continue;
      std::swap(kept, windows_.back());
      Window last = std::move(windows_.back());
      windows_.pop_back();
      return last;
    }
    windows_.reserve(kMaxWindowsKept);
    return Window(places);
  }
  void give_window(Window window) {
    if (windows_.size() < kMaxWindowsKept) windows_.push_back(std::move(window));
  }
  size_t windows_kept() const { return windows_.size(); }

  static constexpr size_t kMaxKept = 1024;  // 4 MiB
  static constexpr size_t kMaxWindowsKept = 16;

 private:
  std::vector<std::unique_ptr<EarlyPayload>> free_;
  std::vector<Window> windows_;
};

class EarlyPayloads {
 public:
  explicit EarlyPayloads(EarlyPayloadPool* pool) : pool_(*pool) {}

  void enable(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }
  bool any() const { return count_ > 0; }
  uint32_t count() const { return count_; }

  // A copy for put(), and room for a window of packets, a power of two. Throws std::bad_alloc.
  std::unique_ptr<EarlyPayload> copy(uint64_t va, Key rkey, const uint8_t* bytes, uint32_t n, uint32_t window) {
    if (waiting_.empty()) waiting_ = pool_.take_window(window);
    std::unique_ptr<EarlyPayload> made = pool_.take();
    made->va = va;
    made->rkey = rkey;
    made->bytes.assign(bytes, bytes + n);
    return made;
  }
  // It waits until the packets before `seq` have arrived.
  void put(uint64_t seq, std::unique_ptr<EarlyPayload> payload) {
    waiting_[seq & (waiting_.size() - 1)] = std::move(payload);
    ++count_;
  }
  // The payload of the packet `seq`, which is the next in order; null: it does not wait.
  std::unique_ptr<EarlyPayload> take(uint64_t seq) {
    if (count_ == 0) return nullptr;
    std::unique_ptr<EarlyPayload> found = std::move(waiting_[seq & (waiting_.size() - 1)]);
    if (found != nullptr && --count_ == 0) pool_.give_window(std::move(waiting_));
    return found;
  }
  void give_back(std::unique_ptr<EarlyPayload> payload) { pool_.give(std::move(payload)); }
  // Those that wait are not written any more.
  void clear() {
    for (auto& payload : waiting_)
      if (payload != nullptr) pool_.give(std::move(payload));
    count_ = 0;
    if (!waiting_.empty()) pool_.give_window(std::move(waiting_));
  }

  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT((waiting_.size() & (waiting_.size() - 1)) == 0 && count_ <= waiting_.size());
    if (count_ == 0 || !pace_.due(waiting_.size(), 64)) return;
    uint32_t waiting = 0;
    for (const auto& payload : waiting_) waiting += payload != nullptr;
    MRC_INVARIANT(waiting == count_);
  }

 private:
  EarlyPayloadPool& pool_;
  EarlyPayloadPool::Window waiting_;  // without places after the last one was taken
  uint32_t count_ = 0;
  bool enabled_ = false;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
