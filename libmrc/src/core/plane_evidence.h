// PlaneEvidence: what all QPs to a peer know of one plane, as far as it tells a packet that is late on it from one that
// is lost. A plane is one queue after the other, so what it delivers shows how far it is [MRC-LOSS-1].
#pragma once

#include "base/time.h"

namespace mrc::core {

struct PlaneEvidence {
  Duration round_trip;  // smoothed; zero before the first
  // When the plane delivered something last, if it has delivered nothing that was sent later than the packet.
  Instant delivered_at = kLongAgo;
};

}  // namespace mrc::core
