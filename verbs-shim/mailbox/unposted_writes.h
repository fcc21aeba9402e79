// UnpostedWrites: writes for which MRC has had no memory yet, in their order. They are copied with their lists of
// memory, which may be on the caller's stack.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "invariant.h"
#include "mailbox/wire.h"

namespace mrc::shim {

class UnpostedWrites {
 public:
  // What one call of either half posts without asking for room again, and the note of a refusal.
  static constexpr uint32_t kMax = 2 * kMaxSegments + 8;

  UnpostedWrites() : writes_(new Write[kMax]) {}
  bool empty() const { return head_ == tail_; }
  // False: too many, or one with too many pieces of memory. Those before it were added.
  bool add(const ibv_send_wr* list) {
    if (empty()) clear();
    for (; list != nullptr; list = list->next) {
      if (tail_ == kMax || list->num_sge > static_cast<int>(kMaxSegments + 1)) return false;
      Write& to = writes_[tail_++];
      to.wr = *list;
      std::copy_n(list->sg_list, list->num_sge, to.sges);
      to.wr.sg_list = to.sges;
      to.wr.next = nullptr;
    }
    check();
    return true;
  }
  ibv_send_wr* front() { return &writes_[head_].wr; }
  void pop() {
    ++head_;
    check();
  }
  void clear() { head_ = tail_ = 0; }
  // Each stands alone, with its own copy of its list.
  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(head_ <= tail_ && tail_ <= kMax);
    for (uint32_t i = head_; i != tail_; ++i) {
      const Write& kept = writes_[i];
      MRC_INVARIANT(kept.wr.sg_list == kept.sges && kept.wr.next == nullptr);
      MRC_INVARIANT(kept.wr.num_sge >= 0 && kept.wr.num_sge <= static_cast<int>(kMaxSegments + 1));
    }
  }

 private:
  struct Write {
    ibv_send_wr wr;
    ibv_sge sges[kMaxSegments + 1];
  };
  const std::unique_ptr<Write[]> writes_;  // not initialised: most connections never touch it
  uint32_t head_ = 0, tail_ = 0;
};

}  // namespace mrc::shim
