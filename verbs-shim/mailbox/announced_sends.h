// AnnouncedSends: SENDs that were announced to the peer and whose data has not been sent, oldest first. [VRB-REQ-2]
#pragma once

#include <array>
#include <cstdint>
#include <memory>

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
  }
  Send& front() { return ring_[head_ % kWindow]; }
  void pop() { ++head_; }
  Send* find(uint64_t number) {  // null: there is none
    for (uint64_t i = head_; i != tail_; ++i)
      if (ring_[i % kWindow].number == number) return &ring_[i % kWindow];
    return nullptr;
  }
  void clear() { head_ = tail_ = 0; }

 private:
  const std::unique_ptr<Send[]> ring_;
  uint64_t head_ = 0, tail_ = 0;
};

}  // namespace mrc::shim
