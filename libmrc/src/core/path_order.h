// PathOrder: the EVs that one QP may use, grouped by plane, each plane's in the order in which the QP takes them.
// PathChooser fills it, EvRotation moves through it. [MRC-EVS-2]
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"

namespace mrc::core {

struct PathOrder {
  // The EVs of one plane: `count` of them, from `first` on; `next` of these is the next to be used. `skipped`: how many
  // the QP passed over in this lap.
  struct Run {
    PlaneId plane;
    uint16_t first = 0, count = 0, next = 0, skipped = 0;
  };
  std::vector<EvIndex> evs;
  std::vector<Run> runs;
  PlaneSet planes;  // those of the runs

  bool empty() const { return evs.empty(); }
  void clear() {
    evs.clear();
    runs.clear();
    planes.clear();
  }
  // The next EV of a plane.
  EvIndex take(Run* run) const {
    const EvIndex ev = evs[run->first + run->next];
    if (run->next == 0) run->skipped = 0;
    if (++run->next == run->count) run->next = 0;
    return ev;
  }
};

}  // namespace mrc::core
