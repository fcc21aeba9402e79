#include "path_events.h"

namespace mrc::nccl {

std::optional<PathDescription> PathEvents::update(const QpSample& now) {
  uint64_t good = 0, all = 0;
  for (const EvSample& ev : now.evs) {
    if (ev.plane < 1 || ev.plane > 63) continue;
    all |= 1ULL << ev.plane;
    if (ev.state == "GOOD") good |= 1ULL << ev.plane;
  }
  const uint64_t good_before = last_.qp_num == 0 ? all : last_.good_planes;
  const int type =
      (now.retransmits > last_.retransmits ? kProfileRetransmit : 0) | (good != good_before ? kProfilePathChange : 0);
  last_ = {static_cast<uint8_t>(type), static_cast<int>(now.qpn), now.retransmits, now.timeouts, good};
  if (type == 0) return std::nullopt;
  return last_;
}

}  // namespace mrc::nccl
