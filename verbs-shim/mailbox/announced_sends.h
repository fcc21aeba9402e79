// AnnouncedSends: SENDs that were announced to the peer and whose data has not been sent, oldest first. [VRB-REQ-2]
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "invariant.h"
#include "mailbox/wire.h"

namespace mrc::shim {

class AnnouncedSends {
 public:
  struct Send {
    uint64_t number = 0;  // of its message
    uint16_t count = 0;   // of segments
    bool cleared = false;
    std::array<Segment, kMaxSegments> segments;  // where the data is to be written
  };

  AnnouncedSends() : ring_(new Send[kWindow]) {}
  bool empty() const { return head_ == tail_; }
  void add(uint64_t number) {
    Send& added = ring_[tail_++ % kWindow];
    added.number = number;
    added.cleared = false;
    check();
  }
  Send& front() { return ring_[head_ % kWindow]; }
  const Send& front() const { return ring_[head_ % kWindow]; }
  void pop() {
    ++head_;
    check();
  }
  Send* find(uint64_t number) {  // null: there is none
    for (uint64_t i = head_; i != tail_; ++i)
      if (ring_[i % kWindow].number == number) return &ring_[i % kWindow];
    return nullptr;
  }
  void clear() { head_ = tail_ = 0; }
  // At most as many as there are messages without an answer, in their order.
  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(head_ <= tail_ && tail_ - head_ <= kWindow);
    if (!pace_.due(tail_ - head_)) return;
    for (uint64_t i = head_; i != tail_; ++i) {
      const Send& send = ring_[i % kWindow];
      MRC_INVARIANT(i == head_ || send.number > ring_[(i - 1) % kWindow].number);
      MRC_INVARIANT(!send.cleared || send.count <= kMaxSegments);
    }
  }

 private:
  const std::unique_ptr<Send[]> ring_;
  uint64_t head_ = 0, tail_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim
