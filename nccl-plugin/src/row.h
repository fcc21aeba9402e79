// Row: the row at the head of the sender's FIFO (protocol.h). The messages of its slots are posted in any order, and
// after the last one the next row is at the head. Threads: one at a time, but for the peer, which writes slots at any
// time: each function says what it reads of them.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>

#include "handshake.h"
#include "invariant.h"
#include "protocol.h"

namespace mrc::nccl {

using LaneSet = std::bitset<kMaxLanes>;

class Row {
 public:
  using Slots = std::array<Slot, kMaxRecvs>;  // of one place of the FIFO

  uint64_t number() const { return number_; }
  uint32_t place() const { return place_of(number_); }
  uint32_t count() const { return count_; }  // slots; 0: the row has not begun
  bool begun() const { return count_ != 0; }
  const LaneSet& lanes() const { return lanes_; }  // that carry a part of it

  // The number of slots as the peer gives it, which may be out of range; none: a slot is missing. A slot is complete
  // when its last word has the row's number, so that is read first, once per slot; then the count, once.
  std::optional<uint32_t> read_count(const Slots& slots) const {
    if (!complete(slots[0])) return std::nullopt;
    const uint32_t count = __atomic_load_n(&slots[0].count, __ATOMIC_RELAXED);
    if (!in_range(count)) return count;
    for (uint32_t i = 1; i < count; ++i)
      if (!complete(slots[i])) return std::nullopt;
    return count;
  }
  static bool in_range(uint32_t count) { return count >= 1 && count <= kMaxRecvs; }

  // `count` in range: nothing is posted yet.
  void begin(uint32_t count) {
    count_ = count;
    posted_ = 0;
    lanes_.reset();
  }
  // The first slot with this tag whose message has not been posted, or -1. Reads the tags.
  int find(const Slots& slots, int tag) const {
    for (uint32_t i = 0; i < count_; ++i)
      if ((posted_ & bit(i)) == 0 && slots[i].tag == tag) return static_cast<int>(i);
    return -1;
  }
  // True when only the message of `slot` is missing.
  bool is_last(int slot) const { return (posted_ | bit(slot)) == all(); }
  void set_lanes(const LaneSet& lanes) { lanes_ = lanes; }
  // The message of `slot` has been posted. After the last one the next row is at the head, and has not begun.
  void post(int slot) {
    posted_ |= bit(slot);
    if (posted_ != all()) return;
    ++number_;
    count_ = 0;
  }

  // A row that has begun lacks a message.
  void check() const {
    MRC_INVARIANT(count_ <= kMaxRecvs);
    MRC_INVARIANT(count_ == 0 || posted_ < all());
  }

 private:
  static constexpr uint32_t bit(uint32_t slot) { return 1U << slot; }
  uint32_t all() const { return bit(count_) - 1; }
  bool complete(const Slot& slot) const { return __atomic_load_n(&slot.row, __ATOMIC_ACQUIRE) == number_; }

  uint64_t number_ = 1;
  uint32_t count_ = 0;
  uint32_t posted_ = 0;  // a bit for each slot
  LaneSet lanes_;
};

}  // namespace mrc::nccl
