#include "device/held_bursts.h"

#include "invariant.h"

namespace mrc::device {

void HeldBursts::hold(const core::TxBurst& burst) {
  MRC_INVARIANT(!planes_.contains(burst.plane));
  const Checked checked(this);
  if (!whole_) whole_ = std::make_unique<core::TxBurst>();
  held_[burst.plane.value()].assign(burst);
  planes_.insert(burst.plane);
}

void HeldBursts::offer(Instant now, datapath::Datapath* to) {
  for (const PlaneId p : planes_) {
    if (!to->planes_with_room().contains(p)) continue;
    held_[p.value()].view(whole_.get());
    if (to->tx_one(now, *whole_)) planes_.erase(p);
  }
}

void HeldBursts::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(planes_.empty() || whole_ != nullptr);
  for (const PlaneId p : planes_) {
    MRC_INVARIANT(held_[p.value()].plane() == p);
    MRC_INVARIANT(held_[p.value()].bytes() > 0);
  }
}

}  // namespace mrc::device
