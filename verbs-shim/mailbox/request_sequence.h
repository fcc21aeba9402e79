// RequestSequence: numbers of the peer's requests, modulo 2^20. Confirmations are cumulative, so that one of them
// serves for every request that was carried out before. [VRB-MBX-1] [VRB-RSP-6]
#pragma once

#include <cstdint>

#include "invariant.h"
#include "mailbox/wire.h"

namespace mrc::shim {

class RequestSequence {
 public:
  uint32_t expected() const { return expected_; }  // number of the next request
  void arrive() { expected_ = (expected_ + 1) & kNumberMask; }
  // The next one, which has arrived.
  void complete(uint32_t number) {
    MRC_INVARIANT(number == ((completed_ + 1) & kNumberMask) && number != expected_);
    completed_ = number;
  }
  uint32_t completed() const { return completed_; }
  // Something was carried out that the peer does not know yet.
  bool ack_due() const { return completed_ != acknowledged_; }
  // The peer knows by the answer to this request, or by a confirmation.
  void acknowledge(uint32_t number) {
    MRC_INVARIANT(number <= kNumberMask);
    acknowledged_ = number;
  }

 private:
  uint32_t expected_ = 1;
  uint32_t completed_ = 0;     // the last one carried out
  uint32_t acknowledged_ = 0;  // the last one confirmed to the peer
};

}  // namespace mrc::shim
