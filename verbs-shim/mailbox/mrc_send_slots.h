// MrcSendSlots: the slots of MRC's send queue. Only some requests are signalled: the completion of one frees its slot
// and those of all before it, because completions come in the order of posting.
#pragma once

#include <cstdint>
#include <vector>

#include "invariant.h"

namespace mrc::shim {

class MrcSendSlots {
 public:
  explicit MrcSendSlots(uint32_t slots) : slots_(slots), posted_at_(slots) {}

  // Requests that can be posted while `reserved` more slots stay free.
  uint32_t room(uint32_t reserved) const {
    const uint64_t used = posted_ - released_ + reserved;
    return used < slots_ ? static_cast<uint32_t>(slots_ - used) : 0;
  }
  void post(bool signalled) {
    ++posted_;
    if (signalled) posted_at_[next_++ % slots_] = posted_;
    check();
  }

  uint64_t posted_up_to_signalled() const { return next_ == 0 ? 0 : posted_at_[(next_ - 1) % slots_]; }
  uint64_t released() const { return released_; }

  // Signalled requests are counted from 0.
  uint64_t next_signalled() const { return next_; }
  bool awaits_completion() const { return oldest_ != next_; }
  uint64_t awaited_completions() const { return next_ - oldest_; }
  // The oldest signalled request is complete: its number.
  uint64_t complete() {
    MRC_INVARIANT(awaits_completion());
    released_ = posted_at_[oldest_++ % slots_];
    check();
    return oldest_ - 1;
  }
  void reset() { posted_ = released_ = oldest_ = next_ = 0; }
  // No more requests than slots. A signalled one has a slot until it is complete.
  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(released_ <= posted_ && posted_ - released_ <= slots_);
    MRC_INVARIANT(oldest_ <= next_ && next_ - oldest_ <= posted_ - released_);
    if (!pace_.due(next_ - oldest_)) return;
    uint64_t before = released_;
    for (uint64_t i = oldest_; i != next_; before = posted_at_[i++ % slots_])
      MRC_INVARIANT(posted_at_[i % slots_] > before && posted_at_[i % slots_] <= posted_);
  }

 private:
  const uint64_t slots_;
  uint64_t posted_ = 0;              // requests since the beginning
  uint64_t released_ = 0;            // of them, those whose slot is free again
  std::vector<uint64_t> posted_at_;  // ring: the value of posted_ at each signalled request
  uint64_t oldest_ = 0, next_ = 0;   // signalled requests: the oldest without a completion, the next one
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim
