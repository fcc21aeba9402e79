// PathMtu: the packet sizes that pass each plane towards one peer (packetization layer path MTU discovery, RFC 8899).
//
// Full packets that are lost where small ones pass look like a bad path that recovers at every probe, or like a peer
// that answers and accepts nothing. So if there is a reason to suspect the MTU, a search runs: rounds of EV probes
// over one EV of the plane, one for each path MTU up to the one in use, padded to the size of the largest data packet
// of that MTU, and one that is not padded. An answer to a full one ends the search without a finding. kRounds
// rounds in which every size up to one below the full one was answered, and none above it, give the verdict: the
// largest size that was answered in any of them. Rounds without any answer prove nothing about the size: after kRounds
// of them the search ends without a verdict. So do rounds in which a size was answered and a smaller one was not: that
// is loss, and kMaxLossyRounds of them end the search.
//
// A peer that answers no padded probe at all gives no verdict either: it may be an implementation that refuses them
// [MRC-CHOICE-Q32]. A plane that is too narrow is searched again periodically, until full packets pass. [MRC-MTU-1..5]
//
// Sans-IO; one per peer; no allocation after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/planes.h"
#include "base/time.h"
#include "invariant.h"

namespace mrc::core {

class PathMtu {
 public:
  static constexpr uint32_t kSmallest = 256, kLargest = 8192;
  static constexpr uint8_t kRounds = 3;
  static constexpr uint8_t kMaxLossyRounds = 8;
  static constexpr uint8_t kFullProbes = 5;  // per round: if full packets pass occasionally, one of them is answered
  static constexpr Duration kSearchInterval = Duration::seconds(1);  // between searches of a plane
  static constexpr uint8_t kMaxIntervalDoublings = 6;                // of a narrow plane: 64 s

  struct Probe {
    PlaneId plane;
    uint32_t mtu = 0;        // padded as a packet of that path MTU; 0: not padded
    bool new_round = false;  // choose another EV
  };
  enum class Verdict : uint8_t { kNone, kPasses, kNarrow, kUnknown };

  PathMtu(size_t planes, Duration round) : planes_(planes), round_(round) {}

  // Packets of path MTU `mtu` appear not to pass. Starts a search, unless one runs or has just ended. True: started.
  bool suspect(Instant now, PlaneId plane, uint32_t mtu);
  // The next probe that is to be sent now; call until it returns none.
  std::optional<Probe> take_due(Instant now);
  void on_answer(PlaneId plane, uint32_t mtu);
  // After answers and when next_time() is reached: the end of a search, if one has ended on some plane.
  Verdict conclude(Instant now, PlaneId* plane);

  Instant next_time() const;
  // Largest path MTU that is known to pass where a larger one does not; 0: no limit is known.
  uint32_t limit(PlaneId plane) const { return planes_[plane].limit; }
  bool searching(PlaneId plane) const { return planes_[plane].searching; }
  uint32_t wanted(PlaneId plane) const { return planes_[plane].wanted; }  // of the last search
  void check() const {
    if constexpr (!kCheckInvariants) return;
    for (const Plane& p : planes_) {
      MRC_INVARIANT(!p.searching || (p.wanted > kSmallest && p.wanted <= kLargest));
      MRC_INVARIANT(p.limit == 0 || p.limit >= kSmallest);
      MRC_INVARIANT(p.full_left < kFullProbes && p.doublings <= kMaxIntervalDoublings);
      MRC_INVARIANT(!p.searching || (p.narrow_rounds < kRounds && p.silent_rounds < kRounds));
      MRC_INVARIANT(!p.searching || p.lossy_rounds < kMaxLossyRounds);
    }
  }

 private:
  struct Plane {
    uint32_t limit = 0, wanted = 0;
    uint32_t next_size = 0;  // of this round; UINT32_MAX: all were sent
    uint32_t best = 0;       // largest that was answered in this search
    bool searching = false, full = false;
    uint8_t answered = 0;   // sizes of this round, a bit each, the smallest one lowest
    uint8_t full_left = 0;  // of this round, beside the first
    uint8_t narrow_rounds = 0, silent_rounds = 0, lossy_rounds = 0, doublings = 0;
    Instant round_end = Instant::never();
    Instant again = kLongAgo;  // no search before; of a narrow plane, one then
  };
  void begin_round(Instant now, Plane* p);

  PerPlane<Plane> planes_;
  Duration round_;
};

}  // namespace mrc::core
