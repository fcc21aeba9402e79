// The rules of an MRC_FAULT text; the grammar is in fault.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"
#include "base/time.h"

namespace mrc::datapath {

enum class FaultKind : uint8_t { kLoss, kBurstLoss, kDup, kReorder, kDelay, kCorrupt, kEcn, kTrim, kBlackhole };

struct FaultRule {
  enum class Scope : uint8_t { kAll, kPlane, kEv };

  FaultKind kind = FaultKind::kLoss;
  Scope scope = Scope::kAll;
  uint32_t low = 0;  // planes and EVs 0-based, both ends included
  uint32_t high = UINT32_MAX;
  double probability = 0;
  uint32_t run = 1;  // packets in a row, burstloss
  Duration delay;
  Duration delay_max;  // uniform between the two
  Duration from;       // since the first burst
  Duration to = Duration::infinite();

  bool concerns(PlaneId plane, EvIndex ev_index) const {
    if (scope == Scope::kAll) return true;
    const uint32_t value = scope == Scope::kPlane ? plane.value() : ev_index.value();
    return value >= low && value <= high;
  }
  bool active(Duration since_first) const { return since_first >= from && since_first < to; }
};

struct FaultPlan {
  std::string text;
  uint64_t seed = 1;
  std::vector<FaultRule> rules;
};

}  // namespace mrc::datapath
