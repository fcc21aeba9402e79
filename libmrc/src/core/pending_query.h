// PendingQuery: a query to a peer that is repeated with a doubling pause until it is answered or the tries are used up
// [MRC-EXT-2].
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/planes.h"
#include "base/time.h"
#include "invariant.h"

namespace mrc::core {

struct PendingQuery {
  static constexpr uint8_t kMaxTries = 12;
  static constexpr Duration kFirstPause = Duration::milliseconds(5);
  static constexpr uint8_t kMaxDoublings = 7;               // 640 ms between the last ones
  static constexpr Duration kFresh = Duration::seconds(1);  // no other QP asks again within this time

  uint64_t nonce = 0;
  uint8_t tries = 0;
  Instant queried_at = kLongAgo;
  Instant next = Instant::never();  // of the next try
  Instant begun = kLongAgo;

  void begin(Instant now, uint64_t new_nonce) {
    begun = now;
    nonce = new_nonce;
    tries = 0;
  }
  bool exhausted() const { return tries >= kMaxTries; }
  void count_try(Instant now) {
    queried_at = now;
    next = now + kFirstPause * (1 << std::min(tries, kMaxDoublings));
    ++tries;
  }
  // No sooner than a first repetition.
  void restart(Instant now) {
    tries = 0;
    next = std::max(now, queried_at + kFirstPause);
  }
  void check() const { MRC_INVARIANT(tries <= kMaxTries); }
};

// For a peer's planes.
struct PlaneQuery : PendingQuery {
  uint64_t peer_nonce = 0;     // of the peer's latest query
  PlaneSet open;               // the answer is missing or reports that our packets are not accepted there yet
  PlaneSet in_use = 1_planes;  // both ends accept each other's packets
};

// For a peer's source ports; the tries are those of the part that is due [MRC-EXT-9].
struct PortQuery : PendingQuery {
  bool open = false;
};

}  // namespace mrc::core
