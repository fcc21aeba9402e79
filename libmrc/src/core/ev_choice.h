// EvChoice: the EVs of the endpoint's table that a QP with a profile of its own may use; without one it uses those of
// the active set. Shared by all QPs with that profile; its creator may change it while the engine is not running,
// and raises `generation` then. [MRC-EVS-10]
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace mrc::core {

struct EvChoice {
  PerEv<bool> allowed;
  uint32_t min_active = 0;  // with fewer good ones than this, those assumed bad are used again
  uint32_t generation = 1;

  bool allows(EvIndex ev) const { return allowed.has(ev) && allowed[ev]; }
};

}  // namespace mrc::core
