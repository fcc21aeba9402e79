#include "core/sack_report.h"

namespace mrc::core {

SackReport::Unreported SackReport::begin(const ReceivedPackets& received) const {
  Unreported unreported;
  unreported.low = std::max(low_, received.expected());
  unreported.high = std::min(high_, received.end());
  skip_empty(&unreported, received);
  unreported.reported_low = unreported.low;
  return unreported;
}

// Ranges without an arrival are left out: a packet far ahead of the rest costs one SACK, not one per 64 PSNs.
void SackReport::skip_empty(Unreported* unreported, const ReceivedPackets& received) {
  while (unreported->low < unreported->high && received.above(unreported->low) == 0)
    unreported->low += wire::kSackBitmapBits;
  while (unreported->low < unreported->high && !received.contains(unreported->low)) ++unreported->low;
}

// A SACK may be lost. Bits of its bitmap above the new arrivals are better used below: most packets are so reported by
// several SACKs at no cost. A range further back is reported again, by the next burst [MRC-SACK-10].
uint64_t SackReport::base_for(const Unreported& unreported, const ReceivedPackets& received, Psn first) {
  const uint64_t lowest = aligned(received.expected(), first);
  uint64_t base = aligned(unreported.low, first);
  while (base > lowest && base + wire::kSackBitmapBits >= unreported.high + 8) base -= 8;
  return std::max(base, lowest);
}

bool SackReport::must_repeat(Unreported& unreported, const ReceivedPackets& received) {
  again_low_ = std::max(again_low_, received.expected());
  if (unreported.covered_low <= again_low_) again_low_ = again_high_;
  unreported.repeat_due = again_low_ < again_high_;
  return unreported.repeat_due && unreported.low >= unreported.high && unreported.named == named_count_;
}

// Keeps the unreported arrivals. True: there are some.
bool SackReport::finish(const Unreported& unreported) {
  if (again_low_ >= again_high_) {
    again_low_ = unreported.reported_low;
    again_high_ = std::min(unreported.low, unreported.high);
  }
  std::move(named_.begin() + unreported.named, named_.begin() + named_count_, named_.begin());
  named_count_ -= unreported.named;
  const bool new_left = unreported.low < unreported.high;
  low_ = new_left ? unreported.low : UINT64_MAX;
  if (!new_left) high_ = 0;
  return new_left || named_count_ > 0 || (unreported.repeat_due && !unreported.repeated);
}

}  // namespace mrc::core
