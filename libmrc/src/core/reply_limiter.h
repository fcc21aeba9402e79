// ReplyLimiter: limits the answers to connectionless requests (EV probe, port status, plane request). The source of
// such a request is not proven, so an answer may reach a host that sent no request. Two limits per requester: answers
// per second, and, for addresses of no peer, no more bytes than were received from there. A third limit covers all of
// the latter together, because the table is small and new addresses evict old ones. A peer that has announced its
// source ports has a budget that only packets from these ports use, so that other users of its host cannot exhaust it.
// [MRC-SEC-11]
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ip.h"
#include "base/time.h"
#include "core/types.h"
#include "invariant.h"

namespace mrc::core {

// The source of a connectionless request, as far as it is known.
struct RequestSource {
  IpAddress addr;
  bool known = false;     // an address of a peer, or of this device itself
  PeerId peer = kNoPeer;  // that peer, if it announced the source port; kNoPeer: any process of that address
};

class ReplyLimiter {
 public:
  // Answers per second, and how many of them at once.
  static constexpr int64_t kPeerRate = 20000, kPeerBurst = 4096;
  static constexpr int64_t kUnverifiedRate = 2000, kUnverifiedBurst = 512;
  static constexpr int64_t kAllUnverifiedRate = 20000, kAllUnverifiedBurst = 2048;
  static constexpr uint32_t kMaxSavedBytes = 4096;

  explicit ReplyLimiter(uint64_t secret) : secret_(secret) {}

  bool allow(Instant now, const RequestSource& from, uint32_t request_bytes, uint32_t reply_bytes) {
    Budget& s = find(from);
    const int64_t rate = from.known ? kPeerRate : kUnverifiedRate, burst = from.known ? kPeerBurst : kUnverifiedBurst;
    s.bytes = std::min(s.bytes + request_bytes, kMaxSavedBytes);
    if (!from.known && s.bytes < reply_bytes) return false;
    if (!s.tokens.has(now, rate, burst)) return false;
    if (!from.known) {
      if (!unverified_.has(now, kAllUnverifiedRate, kAllUnverifiedBurst)) return false;
      unverified_.take();
      s.bytes -= reply_bytes;
    }
    s.tokens.take();
    return true;
  }
  void check() const {
    if (!kCheckInvariants || !pace_.due(kBudgets)) return;
    MRC_INVARIANT(unverified_.given >= 0 && unverified_.given <= kAllUnverifiedBurst * Bucket::kOne);
    for (const Budget& s : budgets_) {
      MRC_INVARIANT(s.bytes <= kMaxSavedBytes);
      MRC_INVARIANT(s.tokens.given >= 0 && s.tokens.given <= kPeerBurst * Bucket::kOne);
    }
  }

 private:
  static constexpr size_t kBudgets = 256;

  // Answers that were sent and are not yet offset by time, in billionths of one. The rate and the number at
  // once are arguments, because a source may become a peer: answers sent before then count, refused ones do
  // not.
  struct Bucket {
    Instant seen = kLongAgo;
    int64_t given = 0;
    bool has(Instant now, int64_t rate, int64_t burst) {
      const int64_t passed = (now - seen).ns();
      seen = now;
      given = passed >= given / rate + 1 ? 0 : std::max<int64_t>(given - passed * rate, 0);
      return given <= (burst - 1) * kOne;
    }
    void take() { given += kOne; }

    static constexpr int64_t kOne = 1000000000;
  };
  struct Budget {
    IpAddress addr;
    PeerId peer = kNoPeer;
    Bucket tokens;
    uint32_t bytes = 0;
    bool of(const RequestSource& from) const { return addr == from.addr && peer == from.peer; }
  };

  Budget& find(const RequestSource& from) {
    uint64_t h = secret_ ^ from.peer;
    for (const uint8_t b : from.addr.bytes) h = (h ^ b) * 0x9E3779B97F4A7C15ull, h ^= h >> 29;
    Budget* const pair = &budgets_[h % (kBudgets / 2) * 2];
    if (pair[0].of(from)) return pair[0];
    if (pair[1].of(from)) return pair[1];
    Budget& older = pair[0].tokens.seen < pair[1].tokens.seen ? pair[0] : pair[1];
    older = Budget();
    older.addr = from.addr;
    older.peer = from.peer;
    return older;
  }

  const uint64_t secret_;
  Bucket unverified_;
  std::array<Budget, kBudgets> budgets_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
