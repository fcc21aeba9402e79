// FaultSelector: which packets of a burst the rules of a fault plan concern.
//
// A rule with a probability does not draw a number per packet: it draws the distance to its next event from the
// geometric distribution, and counts packets down.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "base/time.h"
#include "core/burst.h"
#include "datapath/fault_plan.h"

namespace mrc::datapath {

class FaultSelector {
 public:
  // What is to be done with a packet, several at once possibly.
  enum SegmentFlag : uint8_t { kLost = 1, kCopied = 2, kHeld = 4, kDamaged = 8, kMarked = 16, kCut = 32 };

  explicit FaultSelector(std::shared_ptr<const FaultPlan> plan);

  struct Effect {
    bool dropped = false;   // the whole burst
    bool affected = false;  // some of its packets have flags
    Duration delay;
  };
  // What is to happen to a burst. Draws its delay, and else changes nothing: the burst may have to be offered again.
  Effect evaluate(Instant now, const core::TxBurst& burst);
  // The burst is sent: counts every rule's distance down by it, and notes which segments its events fall on.
  void advance(Instant now, const core::TxBurst& burst);
  // Of the burst that advance() was called for last.
  uint8_t flags(uint32_t segment) const { return flags_[segment]; }

  const FaultPlan& plan() const { return *plan_; }
  // For the details of an event.
  Rng& rng() { return states_[0].rng; }

 private:
  struct RuleState {
    Rng rng{0};
    uint64_t gap = 0;  // packets until the next event
    uint32_t run = 0;  // packets of a burst loss still to drop
  };

  static uint64_t draw_gap(RuleState* state, double p);
  void advance(RuleState* state, const FaultRule& rule, uint32_t segments);
  Duration since_first(Instant now);

  const std::shared_ptr<const FaultPlan> plan_;
  std::vector<RuleState> states_;  // of the plan's rules
  std::optional<Instant> origin_;  // when the first burst was sent
  std::array<uint8_t, core::kMaxSegments> flags_{};
};

}  // namespace mrc::datapath
