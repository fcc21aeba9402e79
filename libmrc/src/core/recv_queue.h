// RecvQueue: the posted receive requests of one QP, in order. MRC's writes with immediate consume one each; no memory
// is attached to them. The ring doubles until it holds the maximum ever queued, so that an idle QP stays small.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "invariant.h"

namespace mrc::core {

class RecvQueue {
 public:
  void init(uint32_t max) { max_ = max; }
  void reset() { head_ = tail_ = 0; }
  bool empty() const { return head_ == tail_; }
  // False: full. Throws std::bad_alloc, and changes nothing then.
  [[nodiscard]] bool push(uint64_t wr_id) {
    if (size() >= max_) return false;
    if (size() == wr_ids_.size()) grow();
    wr_ids_[tail_++ & (wr_ids_.size() - 1)] = wr_id;
    return true;
  }
  uint64_t pop() { return wr_ids_[head_++ & (wr_ids_.size() - 1)]; }
  void check() const { MRC_INVARIANT(size() <= max_ && size() <= wr_ids_.size()); }

 private:
  static constexpr size_t kInitial = 16;

  uint32_t size() const { return tail_ - head_; }
  void grow() {
    std::vector<uint64_t> larger(std::max(kInitial, 2 * wr_ids_.size()));
    for (uint32_t i = head_; i != tail_; ++i) larger[i & (larger.size() - 1)] = wr_ids_[i & (wr_ids_.size() - 1)];
    wr_ids_.swap(larger);
  }

  std::vector<uint64_t> wr_ids_;
  uint32_t head_ = 0, tail_ = 0;  // modulo 2^32, a multiple of the places
  uint32_t max_ = 0;
};

}  // namespace mrc::core
