// MrcSendSlots: the slots of MRC's send queue. Only some requests are signalled: the completion of one frees its slot
// and those of all before it, because completions come in the order of posting.
#pragma once

#include <cstdint>
#include <vector>

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
  }

  // Signalled requests are counted from 0.
  uint64_t next_signalled() const { return next_; }
  bool awaits_completion() const { return oldest_ != next_; }
  // The oldest signalled request is complete: its number.
  uint64_t complete() {
    released_ = posted_at_[oldest_ % slots_];
    return oldest_++;
  }
  void reset() { posted_ = released_ = oldest_ = next_ = 0; }

 private:
  const uint64_t slots_;
  uint64_t posted_ = 0;              // requests since the beginning
  uint64_t released_ = 0;            // of them, those whose slot is free again
  std::vector<uint64_t> posted_at_;  // ring: the value of posted_ at each signalled request
  uint64_t oldest_ = 0, next_ = 0;   // signalled requests: the oldest without a completion, the next one
};

}  // namespace mrc::shim
