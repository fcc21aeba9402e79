#include "core/message_map.h"

#include <algorithm>
#include <utility>

namespace mrc::core {

// Allocations come first, here and in grow(): if one fails, nothing changes.
void MessageMap::allocate() {
  present_.resize(kInitialRecords);
  records_.resize(kInitialRecords);
  mask_ = kInitialRecords - 1;
}

void MessageMap::grow(uint64_t wanted) {
  uint64_t size = records_.size();
  while (size < wanted && size < kMaxRecords) size *= 2;
  if (size == records_.size()) return;
  std::vector<Record> old(size);
  RingBitmap present;
  present.resize(static_cast<uint32_t>(size));
  old.swap(records_);
  mask_ = size - 1;
  present_ = std::move(present);
  for (const Record& r : old) {
    if (!r.used) continue;
    const uint64_t m = unwrap(r.msn);
    records_[m & mask_] = r;
    if (m > base_) present_.set(m);
  }
}

MessageMap::Verdict MessageMap::misfit(const MessageClaim& p, int64_t at, const Record& opponent) const {
  Verdict v;
  v.fit = Fit::kMisfit;
  v.against_proven = opponent.proven;
  const auto apart = static_cast<int16_t>(opponent.msn - p.msn);
  v.same_place = apart >= -1 && apart <= 1 && at >= rel32(opponent.first_max) &&
                 at < rel32(opponent.first_min) + static_cast<int64_t>(opponent.packets);
  return v;
}

MessageMap::Verdict MessageMap::check_new(const MessageClaim& p, uint64_t m, int64_t at, int64_t low,
                                          int64_t high) const {
  if (at > 0 && m > base_) return check_neighbours(p, m, at, low, high, Fit::kNew);
  // An old packet of an old message of which the record is gone, or a packet that mixes old and new.
  if (at <= 0 && m <= base_ && m >= first_) return {Fit::kTooOld, false, false, 0, 0};
  for (uint64_t near = m - 1; near != m + 2; ++near)
    if (const Record* r = record(near); r != nullptr && near != m) {
      const Verdict v = misfit(p, at, *r);
      if (v.same_place) return v;
    }
  Verdict v;
  v.fit = Fit::kMisfit;
  v.against_proven = true;
  return v;
}

// `gap` messages further, at least gap - 1 packets lie between.
MessageMap::Verdict MessageMap::check_neighbours(const MessageClaim& p, uint64_t m, int64_t at, int64_t low,
                                                 int64_t high, Fit fit) const {
  const int64_t n = p.packets;
  // The nearest record before it, or the last complete message, which ends at 0.
  uint64_t below = std::max(std::min(m, end_) - 1, base_);  // beyond end_ the ring holds other numbers
  while (below > base_ + 64 && present_.window(below - 63) == 0) below -= 64;
  while (below > base_ && !present_.test(below)) --below;
  const auto gap_below = static_cast<int64_t>(m - below);
  if (below > base_) {
    const Record& r = *record(below);
    const int64_t end_min = rel32(r.first_min) + r.packets - 1;
    const int64_t end_max = rel32(r.first_max) + r.packets - 1;
    low = std::max(low, end_min + gap_below);
    if (gap_below == 1) high = std::min(high, end_max + 1);
    if (low > high) return misfit(p, at, r);
  } else {
    low = std::max(low, gap_below - (started_ ? 0 : 1));
    if (gap_below == 1) high = std::min<int64_t>(high, 1);
    if (low > high) {
      Verdict v;  // a complete message is certain, unless its record is unproven
      v.fit = Fit::kMisfit;
      v.against_proven = true;
      if (const Record* r = record(base_); r != nullptr) v = misfit(p, at, *r);
      return v;
    }
  }
  uint64_t above = m + 1;
  while (above < end_ && present_.window(above) == 0) above += 64;
  while (above < end_ && !present_.test(above)) ++above;
  if (above < end_) {
    const Record& r = *record(above);
    const auto gap = static_cast<int64_t>(above - m);
    high = std::min(high, rel32(r.first_max) - gap - n + 1);
    if (gap == 1) low = std::max(low, rel32(r.first_min) - n);
    if (low > high) return misfit(p, at, r);
  }
  return {fit, false, false, low, high};
}

void MessageMap::accept(const MessageClaim& p, const Verdict& v, bool proven) {
  const uint64_t m = unwrap(p.msn);
  if (v.fit == Fit::kNew) {
    make_room(p, v);
    Record& r = records_[m & mask_];
    r = Record();
    r.identity = p.identity;
    r.packets = p.packets;
    r.msn = p.msn;
    r.used = true;
    present_.set(m);
    if (m >= end_) end_ = m + 1;
  }
  Record& r = records_[m & mask_];
  r.first_min = static_cast<uint32_t>(base_end_ + static_cast<uint64_t>(v.low));
  r.first_max = static_cast<uint32_t>(base_end_ + static_cast<uint64_t>(v.high));
  ++r.accepted;
  if (proven) r.proven = true;
  if (p.ends) {
    r.end_known = true;
    r.detail = p.detail;
    r.with_imm = p.with_imm;
  }
}

bool MessageMap::begin_front(uint64_t seq) {
  uint64_t m = base_ + 1;
  if (!started_ && record(m) == nullptr) ++m;
  const Record* found = record(m);
  const int64_t at = rel(seq);
  if (found == nullptr || rel32(found->first_min) > at || rel32(found->first_max) < at) return false;
  if (!started_) {
    started_ = true;
    first_ = m;
    base_ = m - 1;
  }
  Record& r = records_[m & mask_];
  r.first_min = r.first_max = static_cast<uint32_t>(seq);
  front_end_ = seq + r.packets - 1;
  in_front_ = true;
  return true;
}

void MessageMap::finish_front() {
  ++base_;
  present_.clear(base_);
  // A ring as large as the space of MSNs holds the record of a message until the next one of the same MSN. Behind
  // kMemory messages, each of a packet or more, nothing is looked up any more.
  if (records_.size() == kMaxRecords) records_[(base_ - kMemory) & mask_].used = false;
  base_end_ = front_end_;
  in_front_ = false;
}

bool MessageMap::is_next(uint64_t seq, uint16_t msn) const {
  const uint64_t m = unwrap(msn);
  return rel(seq) == 1 && (m == base_ + 1 || (!started_ && m == base_ + 2));
}

// A bit is set for each message after the last complete one that has a record; no record has more packets than its
// message, and each leaves its message a place.
void MessageMap::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(base_ < end_ && first_ <= end_);
  MRC_INVARIANT(!in_front_ || (started_ && base_end_ < front_end_ && knows(static_cast<uint16_t>(base_ + 1))));
  if (!allocated() || !pace_.due(end_ - base_, 64)) return;
  for (uint64_t m = base_ + 1; m < end_; ++m) {
    const Record* const r = record(m);
    MRC_INVARIANT(present_.test(m) == (r != nullptr));
    if (r == nullptr) continue;
    MRC_INVARIANT(r->accepted > 0 && r->accepted <= r->packets);
    MRC_INVARIANT(rel32(r->first_min) <= rel32(r->first_max));
  }
}

}  // namespace mrc::core
