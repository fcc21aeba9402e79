#include "core/datagram_receive_queue.h"

#include <algorithm>

#include "invariant.h"

namespace mrc::core {

void DatagramReceiveQueue::grow() {
  std::vector<Slot> slots(std::max(kInitial, 2 * slots_.size()));
  std::vector<Sge> sges(slots.size() * max_sge_);
  for (uint32_t i = head_; i != tail_; ++i) {
    const size_t to = i & (slots.size() - 1);
    slots[to] = slots_[index(i)];
    std::copy_n(sges_.begin() + static_cast<ptrdiff_t>(index(i) * max_sge_), max_sge_,
                sges.begin() + static_cast<ptrdiff_t>(to * max_sge_));
  }
  slots_.swap(slots);
  sges_.swap(sges);
}

PostResult DatagramReceiveQueue::post(uint64_t wr_id, const Sge* sges, uint32_t num_sge) {
  if (size() >= max_wr_) return PostResult::kQueueFull;
  if (num_sge > max_sge_) return PostResult::kTooManySges;
  if (size() == slots_.size()) grow();
  Slot& slot = slots_[index(tail_)];
  slot = {wr_id, 0, 0};
  // Empty elements are ignored, regardless of their address and key.
  for (uint32_t i = 0; i < num_sge; ++i) {
    if (sges[i].length == 0) continue;
    sges_[index(tail_) * max_sge_ + slot.num_sge++] = sges[i];
    slot.bytes += sges[i].length;
  }
  ++tail_;
  return PostResult::kOk;
}

DatagramReceiveQueue::Request DatagramReceiveQueue::front() const {
  const Slot& slot = slots_[index(head_)];
  return {slot.wr_id, slot.bytes, sges_.data() + index(head_) * max_sge_, slot.num_sge};
}

void DatagramReceiveQueue::check() const {
  MRC_INVARIANT(size() <= max_wr_ && size() <= slots_.size());
  MRC_INVARIANT(sges_.size() == slots_.size() * max_sge_);
}

}  // namespace mrc::core
