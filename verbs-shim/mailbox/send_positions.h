// SendPositions: how far the requests of a send queue are, by their indexes in its ring: those in [head, sent) were
// passed to MRC, those in [sent, tail) wait.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "invariant.h"

namespace mrc::shim {

struct SendPositions {
  uint64_t head = 0;  // oldest that is not complete
  uint64_t sent = 0;  // first that was not passed to MRC
  uint64_t tail = 0;
  uint64_t written = 0;  // MRC has completed every WRITE before this index
  uint32_t covered = 0;  // requests before `head` that the next completion covers

  bool idle() const { return head == tail; }
  void written_before(uint64_t end) { written = std::max(written, end); }
  // The oldest is complete; its index.
  uint64_t retire() {
    ++covered;
    return head++;
  }
  uint32_t take_covered() { return std::exchange(covered, 0); }
  void check() const { MRC_INVARIANT(head <= sent && sent <= tail && written <= sent); }
};

}  // namespace mrc::shim
