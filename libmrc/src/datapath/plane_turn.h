// PlaneTurn: the planes of a set in ascending order, beginning with each of them in turn. For a flush in which the
// kernel forwards a plane's frames through every switch that it emulates before the call returns: the other planes wait
// meanwhile, and a plane that is always the last would have the longest round trips.
#pragma once

#include <cstddef>

#include "base/planes.h"

namespace mrc::datapath {

class PlaneTurn {
 public:
  // Calls `use` with each plane.
  template <typename Use>
  void for_each(PlaneSet planes, Use&& use) {
    if (planes.empty()) return;
    const PlaneSet behind = PlaneSet::all(begin_), ahead = planes - behind;
    begin_ = (ahead.empty() ? planes : ahead).first().value() + size_t{1};
    for (const PlaneId p : ahead) use(p);
    for (const PlaneId p : planes& behind) use(p);
  }

 private:
  size_t begin_ = 0;
};

}  // namespace mrc::datapath
