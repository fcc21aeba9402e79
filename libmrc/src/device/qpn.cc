#include "device/qpn.h"

#include <algorithm>

namespace mrc::device {

QpnAllocator::QpnAllocator(uint8_t slot, uint32_t limit, uint32_t start)
    : slot_(slot),
      count_(std::clamp<uint32_t>(limit, 1, kQpIndexEnd - kFirstQpIndex)),
      next_(start % count_),
      used_(count_) {}

uint32_t QpnAllocator::take() {
  if (in_use_ == count_) return 0;
  while (used_[next_]) next_ = (next_ + 1) % count_;
  const uint32_t index = next_;
  used_[index] = true;
  ++in_use_;
  next_ = (next_ + 1) % count_;
  return make_qpn(slot_, static_cast<uint16_t>(index + kFirstQpIndex));
}

void QpnAllocator::give(uint32_t qpn) {
  const uint32_t index = index_of(qpn) - kFirstQpIndex;
  if (slot_of(qpn) != slot_ || index >= count_ || !used_[index]) return;
  used_[index] = false;
  --in_use_;
}

}  // namespace mrc::device
