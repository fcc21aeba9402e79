#include "device/qpn.h"

#include <algorithm>

#include "base/rng.h"

namespace mrc::device {

namespace {
constexpr uint32_t kNumbers = kQpIndexEnd - kFirstQpIndex;
}

QpnAllocator::QpnAllocator(uint8_t slot, uint32_t limit, uint64_t key)
    : slot_(slot), limit_(std::clamp<uint32_t>(limit, 1, kNumbers)), key_(key), used_(kNumbers) {}

// A Feistel network over 16 bits, iterated until it yields one of the numbers in use.
uint16_t QpnAllocator::permuted(uint32_t turn) const {
  do {
    uint32_t left = turn >> 8, right = turn & 0xFF;
    for (uint64_t round = 0; round < 6; ++round) {
      const uint64_t mixed = Rng(key_ + (round << 8 | right)).next();
      const uint32_t next = left ^ static_cast<uint32_t>(mixed >> 56);
      left = right;
      right = next;
    }
    turn = left << 8 | right;
  } while (turn >= kNumbers);
  return static_cast<uint16_t>(turn);
}

Qpn QpnAllocator::take() {
  if (in_use_ == limit_) return Qpn();
  uint32_t index;
  do {
    index = permuted(turn_);
    turn_ = (turn_ + 1) % kNumbers;
  } while (used_[index]);
  used_[index] = true;
  ++in_use_;
  check();
  return make_qpn(slot_, static_cast<uint16_t>(index + kFirstQpIndex));
}

void QpnAllocator::give(Qpn qpn) {
  const uint32_t index = index_of(qpn) - kFirstQpIndex;
  if (slot_of(qpn) != slot_ || index >= kNumbers || !used_[index]) return;
  used_[index] = false;
  --in_use_;
  check();
}

void QpnAllocator::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(in_use_ <= limit_ && turn_ < kNumbers);
  if (!pace_.due(used_.size())) return;
  MRC_INVARIANT(in_use_ == std::count(used_.begin(), used_.end(), true));
}

}  // namespace mrc::device
