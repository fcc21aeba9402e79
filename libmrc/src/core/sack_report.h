// SackReport: the content of one QP's SACKs: the packets above the cumulative PSN that are new since the last
// ones, the marked paths, the pending answer to a probe, and the packets that arrived again. It chooses the SACKs of a
// burst of answers: one per range of 64 PSNs with an arrival, from the lowest to the highest new packet, one per
// CE-marked path, and in the room that is left one per packet that arrived again. [MRC-SACK-1..11, MRC-PROBE-4]
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>

#include "base/psn.h"
#include "base/time.h"
#include "core/received_packets.h"
#include "invariant.h"
#include "wire/seth.h"

namespace mrc::core {

// The packet that a SACK names.
struct SackTrigger {
  uint64_t seq = 0;
  uint32_t ev = 0;
  uint16_t timestamp = 0;
  bool has_timestamp = false;
  bool ce = false;
  bool rtx = false;
  bool again = false;  // it had arrived before [MRC-SACK-11]
  Instant arrived;
};

// Packets that arrived again and have not been named yet, the oldest first. Those that find no place, or no memory,
// are not named: nothing but a counter of the peer depends on it.
class DuplicateArrivals {
 public:
  static constexpr uint32_t kMax = 64;

  void keep(const SackTrigger& t) {
    if (count_ == kMax) return;
    if (kept_ == nullptr) kept_.reset(new (std::nothrow) std::array<SackTrigger, kMax>);
    if (kept_ != nullptr) (*kept_)[(first_ + count_++) % kMax] = t;
  }
  bool any() const { return count_ > 0; }
  const SackTrigger& take() {
    const SackTrigger& oldest = (*kept_)[first_];
    first_ = (first_ + 1) % kMax;
    --count_;
    return oldest;
  }
  void check() const { MRC_INVARIANT(count_ <= kMax && first_ < kMax && (count_ == 0 || kept_ != nullptr)); }

 private:
  std::unique_ptr<std::array<SackTrigger, kMax>> kept_;  // from the first one on: most QPs have none
  uint32_t first_ = 0, count_ = 0;
};

class SackReport {
 public:
  static constexpr uint32_t kMaxNamed = 4;  // marked packets that are kept until they have been named

  void reset() { *this = SackReport(); }
  // A new packet has arrived.
  void on_packet(uint64_t seq, uint32_t bytes) {
    low_ = std::min(low_, seq);
    high_ = std::max(high_, seq + 1);
    unreported_bytes_ += std::max<uint32_t>(bytes, 1024);
  }
  // A packet requests an answer; its mark is reported in any case.
  void on_trigger(const SackTrigger& t) {
    newest_ = t;
    if (__builtin_expect(t.ce || t.again, 0)) keep_newest();
  }
  // The answer to a probe is complete: everything above expected() is reported again [MRC-PROBE-4].
  void on_probe(const SackTrigger& t, uint16_t id, const ReceivedPackets& received) {
    probe_ = t;
    probe_id_ = id;
    probe_pending_ = true;
    low_ = received.expected();
    high_ = received.end();
  }
  const SackTrigger& newest() const { return newest_; }
  uint16_t probe_id() const { return probe_id_; }
  uint32_t unreported_bytes() const { return unreported_bytes_; }
  // A SACK would only report that everything has arrived.
  bool only_cumulative() const { return named_count_ == 0 && !probe_pending_ && !duplicates_.any(); }
  // A burst of answers has been made.
  void on_reported() { unreported_bytes_ = 0; }

  // The multiple of eight PSNs at or below `seq`, where a bitmap may begin; bits below expected() are then set, which
  // is correct under both readings of the alignment rule [MRC-CHOICE-Q4]. `first`: PSN of kOrigin.
  static uint64_t aligned(uint64_t seq, Psn first) {
    return seq - (static_cast<uint32_t>(first.value() + (seq - ReceivedPackets::kOrigin)) & 7);
  }

  // Passes the SACKs that are due to add(trigger, base, probe_reply), as long as room(reserve) is true: there is room
  // for one and for `reserve` packets behind it. Returns true when more are due.
  template <typename Room, typename Add>
  bool write(const ReceivedPackets& received, Psn first, const Room& room, const Add& add) {
    Unreported unreported = begin(received);
    while ((unreported.low < unreported.high || unreported.named < named_count_) && room(2)) {
      const uint64_t base = unreported.low < unreported.high ? base_for(unreported, received, first)
                                                             : aligned(received.expected(), first);
      add(unreported.named < named_count_ ? named_[unreported.named++] : newest_, base, false);
      unreported.any = true;
      if (unreported.low < unreported.high) {
        unreported.covered_low = std::min(unreported.covered_low, base);
        unreported.low = base + wire::kSackBitmapBits;
      }
      skip_empty(&unreported, received);
    }
    if (must_repeat(unreported, received) && room(2)) {
      const uint64_t base = aligned(again_low_, first);
      add(next_duplicate(), base, false);
      unreported.any = unreported.repeated = true;
      again_low_ = base + wire::kSackBitmapBits;  // the rest of a long range follows the next new arrivals
    }
    bool more = finish(unreported);
    if (probe_pending_ && !more && room(1)) {
      // Last, so that everything sent before the probe has been reported before the requester evaluates it.
      add(probe_, aligned(received.expected(), first), true);
      unreported.any = true;
      probe_pending_ = false;
    }
    more = more || probe_pending_;
    if (!unreported.any) add(next_duplicate(), aligned(received.expected(), first), false);
    return more;
  }
  // SACKs that only name packets that arrived again are left. They wait for all others, and for ACKs: they must not
  // hold up what a peer waits for, however many copies arrive.
  bool duplicates_left() const { return duplicates_.any(); }
  template <typename Add>
  void write_duplicate(const ReceivedPackets& received, Psn first, const Add& add) {
    add(duplicates_.take(), aligned(received.expected(), first), false);
  }
  void check() const {
    MRC_INVARIANT(named_count_ <= kMaxNamed && (low_ == UINT64_MAX || low_ <= high_));
    MRC_INVARIANT(!newest_.again && !probe_.again);
    duplicates_.check();
  }

 private:
  // Apart from on_trigger(), which is for every packet: there the trigger stays in registers.
  [[gnu::noinline]] void keep_newest() {
    if (newest_.ce && named_count_ < kMaxNamed)
      named_[named_count_++] = newest_;
    else if (newest_.again)
      duplicates_.keep(newest_);
    newest_.again = false;  // each arrival is reported once
  }
  // The content of the burst so far.
  struct Unreported {
    uint64_t low = 0, high = 0;  // not reported yet
    uint64_t reported_low = 0;   // where that began
    uint64_t covered_low = UINT64_MAX;
    uint32_t named = 0;
    bool repeat_due = false, repeated = false;
    bool any = false;
  };
  Unreported begin(const ReceivedPackets& received) const;
  static void skip_empty(Unreported* unreported, const ReceivedPackets& received);
  static uint64_t base_for(const Unreported& unreported, const ReceivedPackets& received, Psn first);
  const SackTrigger& next_duplicate() { return duplicates_.any() ? duplicates_.take() : newest_; }
  bool must_repeat(Unreported& unreported, const ReceivedPackets& received);
  bool finish(const Unreported& unreported);

  uint64_t low_ = UINT64_MAX, high_ = 0;     // received above expected() since the last SACK
  uint64_t again_low_ = 0, again_high_ = 0;  // reported once above expected(), in a SACK that may be lost
  SackTrigger newest_;
  std::array<SackTrigger, kMaxNamed> named_;
  uint32_t named_count_ = 0;
  uint32_t unreported_bytes_ = 0;
  SackTrigger probe_;
  uint16_t probe_id_ = 0;
  bool probe_pending_ = false;
  DuplicateArrivals duplicates_;
};

}  // namespace mrc::core
