// RecvQueue: the posted receive requests of one QP, in order. MRC's writes with immediate consume one each; no memory
// is attached to them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/invariant.h"

namespace mrc::core {

class RecvQueue {
 public:
  void init(uint32_t max) {
    wr_ids_.resize(std::bit_ceil(std::max<uint32_t>(1, max)));
    max_ = max;
  }
  void reset() { head_ = tail_ = 0; }
  bool empty() const { return head_ == tail_; }
  [[nodiscard]] bool push(uint64_t wr_id) {  // false: full
    if (tail_ - head_ >= max_) return false;
    wr_ids_[tail_++ & (wr_ids_.size() - 1)] = wr_id;
    return true;
  }
  uint64_t pop() { return wr_ids_[head_++ & (wr_ids_.size() - 1)]; }
  void check() const { MRC_INVARIANT(tail_ - head_ <= max_ && max_ <= wr_ids_.size()); }

 private:
  std::vector<uint64_t> wr_ids_;
  uint32_t head_ = 0, tail_ = 0;  // modulo 2^32, a multiple of the places
  uint32_t max_ = 0;
};

}  // namespace mrc::core
