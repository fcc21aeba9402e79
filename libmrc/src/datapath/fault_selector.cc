#include "datapath/fault_selector.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mrc::datapath {

namespace {

// Of the packets that an event of the rule falls on.
uint8_t flag_of(FaultKind kind) {
  using enum FaultSelector::SegmentFlag;
  switch (kind) {
    case FaultKind::kDup:
      return kCopied;
    case FaultKind::kReorder:
      return kHeld;
    case FaultKind::kCorrupt:
      return kDamaged;
    case FaultKind::kEcn:
      return kMarked;
    case FaultKind::kTrim:
      return kCut;
    default:
      return kLost;
  }
}

}  // namespace

FaultSelector::FaultSelector(std::shared_ptr<const FaultPlan> plan)
    : plan_(std::move(plan)), states_(plan_->rules.size()) {
  for (size_t i = 0; i < states_.size(); ++i) {
    states_[i].rng = Rng(plan_->seed * 0x9E3779B97F4A7C15ull + i);
    states_[i].gap = draw_gap(&states_[i], plan_->rules[i].probability);
  }
}

uint64_t FaultSelector::draw_gap(RuleState* state, double p) {
  if (p >= 1) return 0;
  if (p <= 0) return UINT64_MAX;
  double gap = std::log1p(-state->rng.unit()) / std::log1p(-p);
  return gap < 1e18 ? static_cast<uint64_t>(gap) : UINT64_MAX;
}

Duration FaultSelector::since_first(Instant now) {
  if (!origin_) origin_ = now;
  return now - *origin_;
}

FaultSelector::Effect FaultSelector::evaluate(Instant now, const core::TxBurst& burst) {
  const Duration since = since_first(now);
  Effect effect;
  for (size_t i = 0; i < states_.size(); ++i) {
    const FaultRule& rule = plan_->rules[i];
    if (!rule.concerns(burst.plane, burst.ev_index) || !rule.active(since)) continue;
    if (rule.kind == FaultKind::kBlackhole) {
      effect.dropped = true;
      return effect;
    }
    if (rule.kind == FaultKind::kDelay) {
      int64_t span = (rule.delay_max - rule.delay).ns();
      effect.delay = effect.delay + rule.delay +
                     Duration::nanoseconds(static_cast<int64_t>(states_[i].rng.unit() * static_cast<double>(span)));
    } else if (states_[i].gap < burst.segments || states_[i].run > 0) {
      effect.affected = true;
    }
  }
  return effect;
}

void FaultSelector::advance(Instant now, const core::TxBurst& burst) {
  const Duration since = since_first(now);
  std::fill_n(flags_.begin(), burst.segments, uint8_t{0});
  for (size_t i = 0; i < states_.size(); ++i) {
    const FaultRule& rule = plan_->rules[i];
    if (rule.kind == FaultKind::kDelay || rule.kind == FaultKind::kBlackhole) continue;
    if (!rule.concerns(burst.plane, burst.ev_index) || !rule.active(since)) continue;
    advance(&states_[i], rule, burst.segments);
  }
}

void FaultSelector::advance(RuleState* state, const FaultRule& rule, uint32_t segments) {
  uint32_t at = 0;
  while (at < segments) {
    if (state->run > 0) {
      flags_[at++] |= kLost;
      --state->run;
      continue;
    }
    uint32_t left = segments - at;
    if (state->gap >= left) {
      if (state->gap != UINT64_MAX) state->gap -= left;
      break;
    }
    at += static_cast<uint32_t>(state->gap);
    if (rule.kind == FaultKind::kBurstLoss)
      state->run = rule.run;
    else
      flags_[at++] |= flag_of(rule.kind);
    state->gap = draw_gap(state, rule.probability);
  }
}

}  // namespace mrc::datapath
