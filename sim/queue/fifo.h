// First in, first out, with its size in bytes: packets are chained by their member `next` and count `bytes`.
#pragma once

#include <cstdint>

#include "invariant.h"

namespace mrc::queueing {

template <typename Packet>
class Fifo {
 public:
  void push(Packet* p) {
    p->next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = p;
    tail_ = p;
    bytes_ += p->bytes;
    ++count_;
    check();
  }
  // Null: empty.
  Packet* pop() {
    Packet* p = head_;
    if (p == nullptr) return nullptr;
    head_ = p->next;
    if (head_ == nullptr) tail_ = nullptr;
    p->next = nullptr;
    bytes_ -= p->bytes;
    --count_;
    check();
    return p;
  }
  // Puts `p` in the place of the newest packet, which is returned. Not empty.
  Packet* exchange_newest(Packet* p) {
    Packet* old = tail_;
    Packet* before = nullptr;
    for (Packet* q = head_; q != old; q = q->next) before = q;
    bytes_ += static_cast<int64_t>(p->bytes) - old->bytes;
    (before != nullptr ? before->next : head_) = p;
    p->next = nullptr;
    tail_ = p;
    check();
    return old;
  }
  Packet* front() const { return head_; }
  bool empty() const { return head_ == nullptr; }
  int64_t bytes() const { return bytes_; }
  uint32_t count() const { return count_; }
  // Reads no packet, which is in no cache as a rule.
  void check() const {
    MRC_INVARIANT((head_ == nullptr) == (count_ == 0) && (tail_ == nullptr) == (count_ == 0));
    MRC_INVARIANT(count_ == 0 ? bytes_ == 0 : bytes_ >= 0);
  }

 private:
  Packet* head_ = nullptr;
  Packet* tail_ = nullptr;
  int64_t bytes_ = 0;
  uint32_t count_ = 0;
};

}  // namespace mrc::queueing
