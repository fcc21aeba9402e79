#include "core/path_mtu.h"

#include <algorithm>
#include <bit>

namespace mrc::core {

namespace {

// Bit 0: not padded, bit 1: kSmallest, each further one twice the size.
uint8_t size_bit(uint32_t mtu) {
  return static_cast<uint8_t>(std::bit_floor(std::clamp<uint32_t>(mtu, 128, PathMtu::kLargest)) / 128);
}
bool has_gap(uint8_t answered) {
  return (answered & (answered + 1)) != 0;
}

}  // namespace

bool PathMtu::suspect(Instant now, PlaneId plane, uint32_t mtu) {
  Plane& p = planes_[plane];
  if (p.searching || mtu <= kSmallest || (now < p.again && p.wanted == mtu)) return false;
  p.wanted = std::min(mtu, kLargest);
  p.best = 0;
  p.narrow_rounds = p.silent_rounds = p.lossy_rounds = 0;
  p.searching = true;
  begin_round(now, &p);
  return true;
}

void PathMtu::begin_round(Instant now, Plane* p) {
  p->next_size = 0;
  p->full_left = kFullProbes - 1;
  p->full = false;
  p->answered = 0;
  p->round_end = now + round_;
}

std::optional<PathMtu::Probe> PathMtu::take_due(Instant now) {
  for (const PlaneId i : planes_.ids()) {
    Plane& p = planes_[i];
    if (!p.searching && p.limit != 0 && p.again <= now) suspect(now, i, p.wanted);
    if (!p.searching || p.next_size == UINT32_MAX) continue;
    const Probe due{i, p.next_size, p.next_size == 0};
    if (p.next_size < p.wanted) {
      p.next_size = std::min(std::max(kSmallest, p.next_size * 2), p.wanted);
    } else if (p.full_left > 0) {
      --p.full_left;
    } else {
      p.next_size = UINT32_MAX;
    }
    return due;
  }
  return std::nullopt;
}

void PathMtu::on_answer(PlaneId plane, uint32_t mtu) {
  Plane& p = planes_[plane];
  if (!p.searching) return;
  p.answered |= size_bit(mtu);
  p.best = std::max(p.best, mtu);
  p.full = p.full || mtu >= p.wanted;
}

PathMtu::Verdict PathMtu::conclude(Instant now, PlaneId* plane) {
  for (const PlaneId i : planes_.ids()) {
    Plane& p = planes_[i];
    if (!p.searching || (!p.full && p.round_end > now)) continue;
    Verdict verdict = Verdict::kNone;
    if (p.full) {
      verdict = Verdict::kPasses;
    } else if (p.answered == 0) {
      if (++p.silent_rounds >= kRounds) verdict = Verdict::kUnknown;
    } else if (has_gap(p.answered)) {
      if (++p.lossy_rounds >= kMaxLossyRounds) verdict = Verdict::kUnknown;
    } else if (++p.narrow_rounds >= kRounds) {
      verdict = p.best >= kSmallest ? Verdict::kNarrow : Verdict::kUnknown;
    }
    if (verdict == Verdict::kNone) {
      begin_round(now, &p);
      continue;
    }
    p.searching = false;
    p.doublings = verdict == Verdict::kNarrow ? std::min<uint8_t>(p.doublings + 1, kMaxIntervalDoublings) : 0;
    p.again = now + kSearchInterval * (int64_t{1} << p.doublings);
    if (verdict == Verdict::kPasses) p.limit = 0;
    if (verdict == Verdict::kNarrow) p.limit = p.best;
    *plane = i;
    return verdict;
  }
  return Verdict::kNone;
}

Instant PathMtu::next_time() const {
  Instant next = Instant::never();
  for (const Plane& p : planes_) {
    if (p.searching) next = std::min(next, p.next_size != UINT32_MAX ? p.round_end - round_ : p.round_end);
    if (!p.searching && p.limit != 0) next = std::min(next, p.again);
  }
  return next;
}

}  // namespace mrc::core
