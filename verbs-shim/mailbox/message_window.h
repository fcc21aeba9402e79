// MessageWindow: the numbered messages to a peer's mailbox. At most kWindow are without an answer; answers come in the
// order of the numbers. [VRB-MBX-1]
#pragma once

#include <array>
#include <cstdint>

#include "invariant.h"
#include "mailbox/wire.h"

namespace mrc::shim {

class MessageWindow {
 public:
  bool full() const { return next_ - 1 - confirmed_ >= kWindow; }
  uint64_t next() const { return next_; }
  // The request at `index` of the send queue is the next message; its number.
  uint64_t add(uint64_t index) {
    by_number_[next_ % kWindow] = index;
    ++next_;
    check();
    return next_ - 1;
  }
  uint64_t index_of(uint64_t number) const { return by_number_[number % kWindow]; }
  bool outstanding(uint64_t number) const { return number > confirmed_ && number < next_; }
  uint64_t oldest() const { return confirmed_ + 1 == next_ ? 0 : confirmed_ + 1; }  // without an answer; 0: none

  uint64_t confirmed() const { return confirmed_; }          // every message up to it is
  uint64_t confirmed_end() const { return confirmed_end_; }  // index behind the last of them
  void confirm(uint64_t number) {
    MRC_INVARIANT(number == confirmed_ || outstanding(number));
    if (number > confirmed_) confirmed_end_ = index_of(number) + 1;
    confirmed_ = number;
    check();
  }

  // The number that a note with its lower bits means.
  uint64_t extend(uint32_t number) const {
    const uint64_t base = confirmed_ & ~static_cast<uint64_t>(kNumberMask);
    uint64_t full = base | number;
    if (full + kNumberMask / 2 < confirmed_) full += kNumberMask + 1;
    if (full > confirmed_ + kNumberMask / 2 && full > kNumberMask) full -= kNumberMask + 1;
    return full;
  }
  // Those without an answer are within the window, in the order of the send queue, behind what is confirmed.
  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(confirmed_ < next_ && next_ - 1 - confirmed_ <= kWindow);
    if (!pace_.due(next_ - 1 - confirmed_)) return;
    for (uint64_t n = confirmed_ + 1; n < next_; ++n)
      MRC_INVARIANT(index_of(n) >= (n == confirmed_ + 1 ? confirmed_end_ : index_of(n - 1) + 1));
  }

 private:
  uint64_t next_ = 1;
  uint64_t confirmed_ = 0;
  uint64_t confirmed_end_ = 0;
  std::array<uint64_t, kWindow> by_number_{};
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim
