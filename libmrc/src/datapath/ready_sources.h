// ReadySources: what has something to read, by index, in an order that is fair: the one after the last that was read
// comes first. A source is a socket or a ring that a driver receives from.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "invariant.h"

namespace mrc::datapath {

class ReadySources {
 public:
  static constexpr uint32_t kMaxSources = 128;

  void set(uint32_t index) { word_of(index) |= bit(index); }
  void clear(uint32_t index) { word_of(index) &= ~bit(index); }
  bool any() const { return (ready_[0] | ready_[1]) != 0; }
  // The first one at or after where to begin, cyclically. There must be one.
  uint32_t next() const {
    MRC_INVARIANT(any());
    uint32_t word = begin_ / kBits;
    uint64_t ahead = ready_[word] & ~uint64_t{0} << begin_ % kBits;
    while (ahead == 0) ahead = ready_[word = (word + 1) % kWords];
    return word * kBits + static_cast<uint32_t>(std::countr_zero(ahead));
  }
  void begin_after(uint32_t index) { begin_ = (index + 1) % kMaxSources; }

 private:
  static constexpr uint32_t kBits = 64, kWords = kMaxSources / kBits;
  static_assert(kWords == 2);

  uint64_t& word_of(uint32_t index) {
    MRC_INVARIANT(index < kMaxSources);
    return ready_[index / kBits];
  }
  static uint64_t bit(uint32_t index) { return uint64_t{1} << index % kBits; }

  std::array<uint64_t, kWords> ready_{};
  uint32_t begin_ = 0;
};

}  // namespace mrc::datapath
