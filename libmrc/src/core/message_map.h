// MessageMap: the messages of the accepted packets of one QP. It checks whether a packet fits its message, in
// any order of arrival. [MRC-SEC-1..5, spec/security.md]
//
// Messages follow each other without a gap, in the PSN and in the MSN. A packet states its MSN, key, length and, by its
// address and PSN, the origin of the message (the address that PSN 0 of the sequence would have); its opcode states
// its position. So each packet bounds the first sequence number of its message: First and Only give it, Last gives
// it through the length, Middle leaves a range. One record per MSN keeps the statements and the intersection of the
// bounds; a new record and a narrowed one are compared with their nearest neighbours. Complete messages are exact: when
// a message becomes the oldest one it must begin where the last one ended, and it must have all its packets itself.
//
// Records outlive their message until their slot in the ring is needed, so that a packet which arrives after another
// one consumed its PSN is detected. At least half of the ring holds such records. The ring grows with the first
// kRetainedMessages messages of a QP, none of which is dropped before that, and with the number of messages that have
// been in flight at once, never per packet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/bitmap.h"
#include "invariant.h"

namespace mrc::core {

// The statements of a packet about its message.
struct MessageClaim {
  uint64_t seq = 0;
  uint64_t identity = 0;  // origin, key and length, mixed with a secret
  uint32_t packets = 1;   // of the message
  uint32_t detail = 0;    // of the packet that ends it: immediate and RQMSN, 0 without
  uint16_t msn = 0;
  bool begins = false;
  bool ends = false;
  bool with_imm = false;
};

class MessageMap {
 public:
  enum class Fit : uint8_t {
    kNew,     // fits, first of its message
    kMember,  // fits a message that is known
    kTooOld,  // its record is gone
    kMisfit,  // contradicts an accepted packet
  };
  struct Verdict {
    Fit fit = Fit::kNew;
    bool against_proven = false;  // kMisfit: the record that it contradicts was made by a packet with a valid key
    bool same_place = false;      // kMisfit: that record certainly covers the PSN, with an MSN at most one apart
    int64_t low = 0, high = 0;    // first sequence number of the message, counted from base_end_
  };

  static constexpr uint64_t kOrigin = 1ull << 32;  // seq of the first packet

  void reset() { *this = MessageMap(); }
  bool allocated() const { return !records_.empty(); }
  void allocate();

  Verdict check(const MessageClaim& p) const {
    const uint64_t m = unwrap(p.msn);
    const int64_t at = rel(p.seq);
    if (at <= -kMemory || p.seq < kOrigin) return {Fit::kTooOld, false, false, 0, 0};
    int64_t low, high;
    bounds(p, at, &low, &high);
    const Record& r = records_[m & mask_];
    if (!r.used || r.msn != p.msn) return check_new(p, m, at, low, high);
    const int64_t r_low = rel32(r.first_min), r_high = rel32(r.first_max);
    low = low > r_low ? low : r_low;
    high = high < r_high ? high : r_high;
    if (__builtin_expect(r.identity != p.identity || low > high ||
                             (p.ends && r.end_known && (r.detail != p.detail || r.with_imm != p.with_imm)),
                         0))
      return misfit(p, at, r);
    if (__builtin_expect(r_low == r_high, 1)) return {Fit::kMember, false, false, low, high};
    return check_neighbours(p, m, at, low, high, Fit::kMember);
  }

  // Allocates what accept() of this packet needs. Throws std::bad_alloc, and changes nothing then.
  void make_room(const MessageClaim& p, const Verdict& v) {
    if (v.fit != Fit::kNew) return;
    const uint64_t wanted = records_for(unwrap(p.msn));
    if (__builtin_expect(wanted > records_.size(), 0)) grow(wanted);
  }
  // Accepts a packet that check() found fitting and that has not arrived before. `proven`: it was placed with a valid
  // key.
  void accept(const MessageClaim& p, const Verdict& v, bool proven);

  // The packet at `seq` is the first after the last complete message: true if a message begins there. From now on it is
  // the front message.
  bool begin_front(uint64_t seq);
  bool in_front() const { return in_front_; }
  uint64_t front_end() const { return front_end_; }  // its last packet
  bool front_with_imm() const { return records_[(base_ + 1) & mask_].with_imm; }
  // Its last packet has arrived like all before it. False: some of their PSNs were consumed by another message.
  bool front_whole() const {
    const Record& r = records_[(base_ + 1) & mask_];
    return r.accepted == r.packets;
  }
  void finish_front();

  // True if a packet of message `msn` at `seq` would directly follow the last complete message.
  bool is_next(uint64_t seq, uint16_t msn) const;
  bool knows(uint16_t msn) const { return record(unwrap(msn)) != nullptr; }
  size_t bytes() const { return records_.size() * sizeof(Record); }
  void check() const;

 private:
  struct Record {
    uint64_t identity = 0;
    uint32_t first_min = 0, first_max = 0;  // low halves of sequence numbers
    uint32_t packets = 0;
    uint32_t accepted = 0;
    uint32_t detail = 0;
    uint16_t msn = 0;
    bool used : 1;
    bool proven : 1;
    bool end_known : 1;
    bool with_imm : 1;
    Record() : used(false), proven(false), end_known(false), with_imm(false) {}
  };
  static_assert(sizeof(Record) == 32);
  static constexpr uint32_t kInitialRecords = 8;  // an idle QP with few messages behind it stays small
  static constexpr uint32_t kRetainedMessages = 128;
  static constexpr uint32_t kMaxRecords = 1u << 16;
  static constexpr int64_t kMemory = 1 << 15;  // packets behind: an older MSN could be mistaken for a newer one

  uint64_t unwrap(uint16_t msn) const {
    return base_ +
           static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(msn - static_cast<uint16_t>(base_))));
  }
  int64_t rel(uint64_t seq) const { return static_cast<int64_t>(seq - base_end_); }
  int64_t rel32(uint32_t seq) const { return static_cast<int32_t>(seq - static_cast<uint32_t>(base_end_)); }
  static void bounds(const MessageClaim& p, int64_t at, int64_t* low, int64_t* high) {
    const int64_t n = p.packets;
    *low = p.begins ? at : p.ends ? at - (n - 1) : at - (n - 2);
    *high = p.begins ? at : p.ends ? at - (n - 1) : at - 1;
  }
  const Record* record(uint64_t m) const {
    const Record& r = records_[m & mask_];
    return r.used && r.msn == static_cast<uint16_t>(m) ? &r : nullptr;
  }
  Verdict misfit(const MessageClaim& p, int64_t at, const Record& opponent) const;
  Verdict check_new(const MessageClaim& p, uint64_t m, int64_t at, int64_t low, int64_t high) const;
  Verdict check_neighbours(const MessageClaim& p, uint64_t m, int64_t at, int64_t low, int64_t high, Fit fit) const;
  // The ring holds the messages from the last complete one on, and as many before it; the first kRetainedMessages all
  // at once.
  uint64_t records_for(uint64_t m) const {
    return std::max(2 * (m - base_), std::min<uint64_t>(m - kOrigin + 1, kRetainedMessages));
  }
  void grow(uint64_t wanted);

  std::vector<Record> records_;  // by MSN
  RingBitmap present_;           // MSNs from base_ + 1 on that have a record
  uint64_t mask_ = 0;
  uint64_t base_ = kOrigin - 1;      // MSN of the last complete message, unwrapped
  uint64_t base_end_ = kOrigin - 1;  // and its last sequence number
  uint64_t first_ = kOrigin;         // MSN of the first message of all, when it is known
  uint64_t end_ = kOrigin;           // one past the highest MSN that has a record
  uint64_t front_end_ = 0;
  bool started_ = false;  // the first message is known: until then it may have MSN 0 or 1 [MRC-CHOICE-Q10]
  bool in_front_ = false;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
