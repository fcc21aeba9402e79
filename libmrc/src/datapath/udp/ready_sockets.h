// ReadySockets: sockets with something to read, by index, in an order that is fair: the one after the last that was
// read comes first.
#pragma once

#include <bit>
#include <cstdint>

#include "base/invariant.h"

namespace mrc::datapath {

class ReadySockets {
 public:
  static constexpr uint32_t kMaxSockets = 64;

  void set(uint32_t index) { ready_ |= bit(index); }
  void clear(uint32_t index) { ready_ &= ~bit(index); }
  // Only those whose bit in `open` is set: the others have closed.
  void retain(uint64_t open) { ready_ &= open; }
  bool any() const { return ready_ != 0; }
  // The first one at or after where to begin, cyclically. There must be one.
  uint32_t next() const {
    MRC_INVARIANT(any());
    const uint64_t ahead = ready_ >> begin_ << begin_;
    return static_cast<uint32_t>(std::countr_zero(ahead != 0 ? ahead : ready_));
  }
  void begin_after(uint32_t index) { begin_ = (index + 1) % kMaxSockets; }

 private:
  static uint64_t bit(uint32_t index) {
    MRC_INVARIANT(index < kMaxSockets);
    return uint64_t{1} << index;
  }

  uint64_t ready_ = 0;
  uint32_t begin_ = 0;
};

}  // namespace mrc::datapath
