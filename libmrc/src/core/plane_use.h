// PlaneUse: the usable planes towards one peer, and the reasons against the others. Masks have a bit per plane.
// Sans-IO; no allocation. [MRC-EVS-5] [MRC-PORT-1] [MRC-MTU-3]
//
//     usable() is a part of present() & local_up() without planes that are down or suspended
#pragma once

#include <cstdint>

#include "base/invariant.h"

namespace mrc::core {

class PlaneUse {
 public:
  uint32_t usable() const { return usable_; }
  uint32_t suspended() const { return suspended_; }
  bool usable(uint8_t plane) const { return has(usable_, plane); }
  bool present(uint8_t plane) const { return has(present_, plane); }
  bool locally_up(uint8_t plane) const { return has(local_up_, plane); }
  // Planes that carry probes: both ends have them, and the port of this host is up.
  uint32_t askable() const { return present_ & local_up_; }

  // Each is followed by refresh().
  void set_present(uint32_t present) { present_ = present; }
  void set_local(uint32_t up) { local_up_ = up; }
  void suspend(uint8_t plane) { suspended_ |= 1u << plane; }
  void resume(uint8_t plane) { suspended_ &= ~(1u << plane); }
  [[nodiscard]] bool set_narrow(uint32_t narrow) {  // false: as before
    const bool changed = narrow != narrow_;
    narrow_ = narrow;
    return changed;
  }

  // `claimed`: planes that the peer reports down without proof; `down`: with proof (PortClaims). If no other plane is
  // left, those that are narrow or only claimed down are used.
  void refresh(uint32_t claimed, uint32_t down) {
    usable_ = askable() & ~down & ~suspended_;
    if ((usable_ & ~narrow_) != 0) usable_ &= ~narrow_;
    if ((usable_ & ~claimed) != 0) usable_ &= ~claimed;
  }

  void check(uint32_t down) const { MRC_INVARIANT((usable_ & ~(askable() & ~down & ~suspended_)) == 0); }

 private:
  static bool has(uint32_t planes, uint8_t plane) { return (planes >> plane & 1) != 0; }

  uint32_t present_ = 0;  // planes that both ends have
  uint32_t local_up_ = UINT32_MAX;
  uint32_t suspended_ = 0;  // not used until one of their EVs answers
  uint32_t narrow_ = 0;     // not used while others carry full packets
  uint32_t usable_ = 0;     // all of these allow it
};

}  // namespace mrc::core
