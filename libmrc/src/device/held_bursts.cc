#include "device/held_bursts.h"

namespace mrc::device {

void HeldBursts::hold(const core::TxBurst& burst) {
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

}  // namespace mrc::device
