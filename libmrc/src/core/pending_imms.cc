#include "core/pending_imms.h"

#include <algorithm>
#include <bit>

namespace mrc::core {

PendingImm* PendingImms::add(uint16_t rqmsn, uint16_t max) {
  if (slots_.empty()) slots_.resize(std::bit_ceil(std::max<uint32_t>(1, max)));
  PendingImm& slot = slots_[rqmsn & (slots_.size() - 1)];
  if (slot.used || count_ >= std::max<uint32_t>(1, max)) return nullptr;
  ++count_;
  slot = PendingImm();
  slot.rqmsn = rqmsn;
  slot.used = true;
  return &slot;
}

PendingImm* PendingImms::find_next(uint64_t seq) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    PendingImm& slot = slots_[(hint_ + i) & (slots_.size() - 1)];
    if (!slot.used || slot.seq != seq) continue;
    return any_delivered_ && slot.rqmsn != static_cast<uint16_t>(last_ + 1) ? nullptr : &slot;
  }
  return nullptr;
}

void PendingImms::remove(PendingImm* imm) {
  last_ = imm->rqmsn;
  any_delivered_ = true;
  imm->used = false;
  --count_;
  hint_ = static_cast<uint32_t>(imm - slots_.data()) + 1;  // they are taken in the order of RQMSN
}

void PendingImms::check() const {
  if (!kCheckInvariants || !pace_.due(slots_.size())) return;
  MRC_INVARIANT(count_ == static_cast<size_t>(
                              std::count_if(slots_.begin(), slots_.end(), [](const PendingImm& p) { return p.used; })));
}

}  // namespace mrc::core
