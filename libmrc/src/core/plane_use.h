// PlaneUse: the usable planes towards one peer, and the reasons against the others. Sans-IO; no allocation. [MRC-EVS-5]
// [MRC-EVS-20] [MRC-PORT-1] [MRC-MTU-3]
//
//     usable() is a part of with_lossy(); that one of probeable(), without planes that are down or suspended
#pragma once

#include "base/planes.h"
#include "invariant.h"

namespace mrc::core {

class PlaneUse {
 public:
  PlaneSet usable() const { return usable_; }
  PlaneSet suspended() const { return suspended_; }
  PlaneSet lossy() const { return lossy_; }
  PlaneSet with_lossy() const { return with_lossy_; }  // usable(), and lossy planes with no other reason against them
  bool usable(PlaneId plane) const { return usable_.contains(plane); }
  bool present(PlaneId plane) const { return present_.contains(plane); }
  bool locally_up(PlaneId plane) const { return local_up_.contains(plane); }
  // Planes that can carry probes: both ends have them, and the port of this host is up.
  PlaneSet probeable() const { return present_ & local_up_; }

  // Each is followed by refresh().
  void set_present(PlaneSet present) { present_ = present; }
  void set_local(PlaneSet up) { local_up_ = up; }
  void suspend(PlaneId plane) { suspended_.insert(plane); }
  void resume(PlaneId plane) { suspended_.erase(plane); }
  void set_lossy(PlaneId plane, bool lossy) { lossy_.set(plane, lossy); }
  [[nodiscard]] bool set_narrow(PlaneSet narrow) {  // false: as before
    const bool changed = narrow != narrow_;
    narrow_ = narrow;
    return changed;
  }

  // `claimed`: planes that the peer reports down without proof; `down`: with proof (PortClaims). If no other plane is
  // left, those that are narrow, only claimed down or lossy are used. Lossy ones work: that is the weakest reason.
  void refresh(PlaneSet claimed, PlaneSet down) {
    usable_ = probeable() - down - suspended_;
    if (!narrow_.contains_all(usable_)) usable_ -= narrow_;
    if (!claimed.contains_all(usable_)) usable_ -= claimed;
    with_lossy_ = usable_;
    if (!lossy_.contains_all(usable_)) usable_ -= lossy_;
  }

  void check(PlaneSet down) const {
    MRC_INVARIANT((probeable() - down - suspended_).contains_all(with_lossy_));
    MRC_INVARIANT(with_lossy_.contains_all(usable_) && usable_.empty() == with_lossy_.empty());
  }

 private:
  PlaneSet present_;  // planes that both ends have
  PlaneSet local_up_ = PlaneSet::all();
  PlaneSet suspended_;  // not used until one of their EVs answers
  PlaneSet narrow_;     // not used while others carry full packets
  PlaneSet lossy_;      // not used while others deliver more
  PlaneSet with_lossy_;
  PlaneSet usable_;  // all of these allow it
};

}  // namespace mrc::core
