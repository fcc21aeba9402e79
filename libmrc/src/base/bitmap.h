// RingBitmap: one bit per sequence number in a sliding window of a power-of-two size. The owner keeps the window's
// bounds; a bit must be cleared before its place is used for the next lap.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mrc {

class RingBitmap {
 public:
  // `bits` is rounded up to a power of two, at least 64.
  void resize(uint32_t bits) {
    uint32_t size = 64;
    while (size < bits) size *= 2;
    words_.assign(size / 64, 0);
  }
  uint32_t size() const { return static_cast<uint32_t>(words_.size() * 64); }
  bool test(uint64_t seq) const { return (word(seq) >> (seq & 63)) & 1; }
  void set(uint64_t seq) { words_[index(seq)] |= 1ull << (seq & 63); }
  void clear(uint64_t seq) { words_[index(seq)] &= ~(1ull << (seq & 63)); }
  // The 64 bits of [first, first + 64), bit 0 = first, any alignment.
  uint64_t window(uint64_t first) const {
    const unsigned shift = first & 63;
    if (shift == 0) return word(first);
    return (word(first) >> shift) | (word(first + 64) << (64 - shift));
  }
  // The first set bit of [from, end), which the window holds; end: there is none.
  uint64_t find(uint64_t from, uint64_t end) const {
    while (from < end) {
      const uint64_t rest = word(from) >> (from & 63);
      if (rest != 0) return std::min(from + static_cast<uint64_t>(std::countr_zero(rest)), end);
      from = (from | 63) + 1;
    }
    return end;
  }
  void reset() { words_.assign(words_.size(), 0); }

 private:
  size_t index(uint64_t seq) const { return (seq / 64) & (words_.size() - 1); }
  uint64_t word(uint64_t seq) const { return words_[index(seq)]; }
  std::vector<uint64_t> words_;
};

}  // namespace mrc
