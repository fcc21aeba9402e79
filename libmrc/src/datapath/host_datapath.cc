#include "datapath/host_datapath.h"

namespace mrc::datapath {

PerEv<core::EvEntry> auto_evs(uint32_t total, uint32_t planes) {
  PerEv<core::EvEntry> evs(total);
  for (uint32_t i = 0; i < total; ++i) evs[i].plane = plane_at(i % planes);
  return evs;
}

}  // namespace mrc::datapath
