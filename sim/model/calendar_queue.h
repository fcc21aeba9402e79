// CalendarQueue: pending events by time, then by order of insertion. The next 67 us are a ring of buckets 4 ns wide, of
// which one is sorted when its time comes; what lies beyond waits in a heap. Inserting and removing touch one place
// each, while a heap of the tens of thousands of events of a large fabric misses the caches on most of its levels; and
// the events that come next stand side by side, so that a caller can fetch what they will read.
//
// `Event` has key.m_ts, in picoseconds, and key.m_uid, as ns-3's has; C++17, for the source that includes ns-3.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "invariant.h"

namespace mrc::sim {

template <typename Event>
class CalendarQueue {
 public:
  CalendarQueue() : buckets_(kBuckets) {}

  bool empty() const { return size_ == 0; }
  // Not empty.
  const Event& front() {
    if (current_.empty()) advance();
    return current_[first_];
  }
  // The event `k` places behind the first one; null where it has not been sorted yet.
  const Event* ahead(size_t k) const { return first_ + k < current_.size() ? &current_[first_ + k] : nullptr; }

  // Not before the event that was taken last.
  void insert(const Event& ev) {
    ++size_;
    const uint64_t slot = slot_of(ev);
    if (slot <= slot_) {
      current_.insert(
          std::upper_bound(current_.begin() + static_cast<std::ptrdiff_t>(first_), current_.end(), ev, before), ev);
    } else if (slot < slot_ + kBuckets) {
      buckets_[slot % kBuckets].push_back(ev);
      used_[slot % kBuckets / 64] |= uint64_t{1} << slot % 64;
    } else {
      later_.push_back(ev);
      std::push_heap(later_.begin(), later_.end(), after);
    }
    check();
  }

  // Not empty.
  Event pop() {
    const Event ev = front();
    if (++first_ == current_.size()) {
      current_.clear();
      first_ = 0;
    }
    --size_;
    return ev;
  }

  // The event with this number, wherever it is.
  void remove(uint32_t uid) {
    const auto from = [&](std::vector<Event>* events) {
      const auto is = [&](const Event& e) { return e.key.m_uid == uid; };
      const auto rest = std::remove_if(events->begin(), events->end(), is);
      size_ -= static_cast<size_t>(events->end() - rest);
      events->erase(rest, events->end());
    };
    for (std::vector<Event>& bucket : buckets_) from(&bucket);
    current_.erase(current_.begin(), current_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
    from(&current_);
    from(&later_);
    std::make_heap(later_.begin(), later_.end(), after);
    check();
  }
  // Every event is in one place, and a bucket that has some is found.
  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(first_ == 0 || first_ < current_.size());
    if (!pace_.due(kBuckets, 1)) return;
    size_t events = current_.size() - first_ + later_.size();
    for (size_t i = 0; i < kBuckets; ++i) {
      MRC_INVARIANT(buckets_[i].empty() || (used_[i / 64] >> i % 64 & 1) != 0);
      events += buckets_[i].size();
    }
    MRC_INVARIANT(events == size_);
  }

 private:
  static constexpr uint64_t kWidthBits = 12;  // 4,096 ps
  static constexpr uint64_t kBuckets = 1 << 14;

  static bool after(const Event& a, const Event& b) {
    return a.key.m_ts != b.key.m_ts ? a.key.m_ts > b.key.m_ts : a.key.m_uid > b.key.m_uid;
  }
  static bool before(const Event& a, const Event& b) { return after(b, a); }
  static uint64_t slot_of(const Event& ev) { return static_cast<uint64_t>(ev.key.m_ts) >> kWidthBits; }

  // The first slot behind `slot_` whose bucket is in use; `slot_ + kBuckets`: none is.
  uint64_t next_used() const {
    for (uint64_t slot = slot_ + 1; slot < slot_ + kBuckets;) {
      const uint64_t word = used_[slot % kBuckets / 64] >> slot % 64;
      if (word != 0) return slot + static_cast<uint64_t>(__builtin_ctzll(word));
      slot += 64 - slot % 64;
    }
    return slot_ + kBuckets;
  }

  // Sorts the first slot that has events; there is one, but a bucket may be empty after remove().
  void advance() {
    while (current_.empty()) {
      const uint64_t bucket = next_used(), heap = later_.empty() ? UINT64_MAX : slot_of(later_.front());
      const bool from_bucket = bucket < slot_ + kBuckets && bucket <= heap;
      slot_ = from_bucket ? bucket : heap;
      if (from_bucket) {
        current_.swap(buckets_[slot_ % kBuckets]);
        used_[slot_ % kBuckets / 64] &= ~(uint64_t{1} << slot_ % 64);
      }
      while (!later_.empty() && slot_of(later_.front()) == slot_) {
        current_.push_back(later_.front());
        std::pop_heap(later_.begin(), later_.end(), after);
        later_.pop_back();
      }
      std::sort(current_.begin(), current_.end(), before);
    }
  }

  size_t size_ = 0;
  std::vector<Event>
      current_;  // everything up to slot_, from first_ on: an event of the present instant goes to the end
  size_t first_ = 0;
  uint64_t slot_ = 0;
  std::vector<std::vector<Event>> buckets_;
  std::array<uint64_t, kBuckets / 64> used_{};
  std::vector<Event> later_;  // a heap
  mutable InvariantPace pace_;
};

}  // namespace mrc::sim
