// PendingImms: immediates that have arrived and wait until every earlier message is complete. RQMSN numbers the
// WriteIMMs, so it selects the slot; a slot in use means that the peer has more of them in flight than it may
// [MRC-WIMM-2, MRC-CHOICE-Q27].
#pragma once

#include <cstdint>
#include <vector>

#include "invariant.h"

namespace mrc::core {

struct PendingImm {
  uint64_t seq = 0;  // of the packet that carried it
  uint32_t imm = 0;  // memory order
  uint32_t length = 0;
  uint16_t rqmsn = 0;
  bool used = false;
  bool mailbox = false;
};

class PendingImms {
 public:
  void reset() { *this = PendingImms(); }
  // A slot for the immediate of that number, of at most `max` at once; null: the peer has too many in flight. Throws
  // std::bad_alloc, and changes nothing then.
  PendingImm* add(uint16_t rqmsn, uint16_t max);
  // The one of the packet `seq`; null: there is none, or it is not the next in the order of RQMSN
  // [MRC-METH-2].
  PendingImm* find_next(uint64_t seq);
  // Its packet was not accepted after all.
  void take_back(PendingImm* imm) {
    imm->used = false;
    --count_;
  }
  // It has been delivered.
  void remove(PendingImm* imm);
  uint32_t count() const { return count_; }
  void check() const;

 private:
  std::vector<PendingImm> slots_;  // by RQMSN, a power of two of them because RQMSN wraps at 2^16
  uint32_t count_ = 0;
  uint32_t hint_ = 0;  // where the next one most likely is
  uint16_t last_ = 0;  // RQMSN of the last one delivered
  bool any_delivered_ = false;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
