// HeldBursts: bursts that a plane had no room for, at most one per plane. They are copied, because the next burst is
// composed in the same memory (Progress) while the other planes continue; a full plane is rare and expensive anyway.
#pragma once

#include <array>
#include <memory>

#include "base/planes.h"
#include "base/time.h"
#include "core/burst.h"
#include "datapath/datapath.h"
#include "datapath/held_burst.h"

namespace mrc::device {

class HeldBursts {
 public:
  PlaneSet planes() const { return planes_; }  // on which one is held
  // Its plane has none. Throws std::bad_alloc, and then holds nothing more.
  void hold(const core::TxBurst& burst);
  // Sends those whose plane has room.
  void offer(Instant now, datapath::Datapath* to);
  void check() const;

 private:
  PlaneSet planes_;
  std::array<datapath::HeldBurst, PlaneSet::kMaxPlanes> held_;
  std::unique_ptr<core::TxBurst> whole_;  // from the first one on
};

}  // namespace mrc::device
