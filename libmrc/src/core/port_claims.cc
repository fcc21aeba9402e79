#include "core/port_claims.h"

#include <algorithm>

namespace mrc::core {

bool PortClaims::on_word(Instant now, uint32_t up, uint32_t askable) {
  bool heard = true;
  for (uint8_t plane = 0; plane < planes_.size(); ++plane) {
    Plane& p = planes_[plane];
    const uint32_t bit = 1u << plane;
    const bool says_up = (up & bit) != 0;
    if (((claimed_ | down_) & bit) == 0 && !says_up) {
      if ((askable & bit) == 0) {
        leave(now, plane);
      } else if (now < p.hold_until) {
        heard = false;
        continue;
      } else {
        claimed_ |= bit;
        p.claimed_at = now;
        p.to_ask = kProbes;
        p.asked = 0;
      }
    } else if ((down_ & bit) != 0 && says_up) {
      p.next_ask = std::min(p.next_ask, std::max(now, p.asked_at + ask_interval_ / 8));
    }
    p.word_up = says_up;
  }
  return heard;
}

void PortClaims::leave(Instant now, uint8_t plane) {
  const uint32_t bit = 1u << plane;
  Plane& p = planes_[plane];
  claimed_ &= ~bit;
  down_ |= bit;
  p.to_ask = p.refuted = 0;
  p.next_ask = p.word_up ? now : now + ask_interval_;
}

bool PortClaims::take_due(Instant now, uint8_t* plane) {
  for (uint8_t i = 0; i < planes_.size(); ++i) {
    Plane& p = planes_[i];
    if (p.to_ask > 0) {
      --p.to_ask;
      ++p.asked;
      *plane = i;
      return true;
    }
    if (((down_ >> i) & 1) == 0 || p.next_ask > now) continue;
    p.next_ask = now + ask_interval_;
    p.asked_at = now;
    *plane = i;
    return true;
  }
  return false;
}

void PortClaims::on_unsent(uint8_t plane) {
  if (((claimed_ >> plane) & 1) != 0 && planes_[plane].asked > 0) --planes_[plane].asked;
}

uint32_t PortClaims::expire(Instant now) {
  uint32_t left = 0;
  for (uint8_t plane = 0; plane < planes_.size(); ++plane) {
    const uint32_t bit = 1u << plane;
    if ((claimed_ & bit) == 0 || planes_[plane].claimed_at + kPatience > now) continue;
    if (planes_[plane].asked == 0) {  // no probe was sent: no proof
      claimed_ &= ~bit;
      continue;
    }
    leave(now, plane);
    left |= bit;
  }
  return left;
}

bool PortClaims::on_answer(Instant now, uint8_t plane, Instant sent_at, bool* refuted) {
  Plane& p = planes_[plane];
  const uint32_t bit = 1u << plane;
  *refuted = false;
  if (((claimed_ | down_) & bit) == 0 || sent_at < p.claimed_at) return false;
  claimed_ &= ~bit;
  down_ &= ~bit;
  p.next_ask = Instant::never();
  p.to_ask = 0;
  if (sent_at < p.claimed_at + kPatience) {
    *refuted = true;
    p.hold_until = now + kFirstHold * (int64_t{1} << std::min(p.refuted, kMaxHoldDoublings));
    if (p.refuted < kMaxHoldDoublings) ++p.refuted;
  }
  return true;
}

Instant PortClaims::next_time() const {
  Instant next = Instant::never();
  for (uint8_t plane = 0; plane < planes_.size(); ++plane) {
    const Plane& p = planes_[plane];
    if (((claimed_ >> plane) & 1) != 0) next = std::min(next, p.claimed_at + kPatience);
    if (((down_ >> plane) & 1) != 0) next = std::min(next, p.next_ask);
  }
  return next;
}

void PortClaims::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT((claimed_ & down_) == 0);
  for (uint8_t plane = 0; plane < planes_.size(); ++plane) {
    const Plane& p = planes_[plane];
    const bool claimed = (claimed_ >> plane & 1) != 0, down = (down_ >> plane & 1) != 0;
    MRC_INVARIANT(p.refuted <= kMaxHoldDoublings && p.to_ask + p.asked <= kProbes);
    MRC_INVARIANT(claimed || p.to_ask == 0);
    MRC_INVARIANT(down == (p.next_ask < Instant::never()));  // it is probed some time
  }
}

}  // namespace mrc::core
