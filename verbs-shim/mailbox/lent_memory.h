// LentMemory: regions that MRC may still send from although no request of the application covers them. A region cannot
// be deregistered while it is lent. [VRB-RSP-10]
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "invariant.h"
#include "mailbox/key_table.h"
#include "mailbox/wire.h"

namespace mrc::shim {

class LentMemory {
 public:
  bool full() const { return tail_ - head_ == kWindow; }
  // Until the signalled request of that number is complete. Numbers only grow, and there is room. Null: nothing.
  void add(uint64_t request, Loan loan) {
    if (loan != nullptr) loans_[tail_++ % kWindow] = {request, std::move(loan)};
    check();
  }
  void complete(uint64_t request) {
    if (head_ != tail_ && loans_[head_ % kWindow].request == request) loans_[head_++ % kWindow].loan.reset();
    check();
  }
  // Until clear(): one loan for each region, of kWindow regions at most. Null: nothing.
  void add_until_clear(Loan loan) {
    const auto end = last_.begin() + last_count_;
    if (loan == nullptr || end == last_.end() || std::find(last_.begin(), end, loan) != end) return;
    *end = std::move(loan);
    ++last_count_;
    check();
  }
  void clear() {
    while (head_ != tail_) loans_[head_++ % kWindow].loan.reset();
    while (last_count_ > 0) last_[--last_count_].reset();
  }
  // What is counted is lent, and nothing beside it; requests come in their order.
  void check() const {
    if constexpr (!kCheckInvariants) return;
    const uint64_t count = tail_ - head_;
    MRC_INVARIANT(head_ <= tail_ && count <= kWindow && last_count_ <= kWindow);
    MRC_INVARIANT(count == kWindow || loans_[tail_ % kWindow].loan == nullptr);
    MRC_INVARIANT(count == kWindow || head_ == 0 || loans_[(head_ - 1) % kWindow].loan == nullptr);
    MRC_INVARIANT(last_count_ == kWindow || last_[last_count_] == nullptr);
    if (!pace_.due(count + last_count_)) return;
    for (uint64_t i = head_; i != tail_; ++i) {
      const Entry& entry = loans_[i % kWindow];
      MRC_INVARIANT(entry.loan != nullptr);
      MRC_INVARIANT(i == head_ || entry.request > loans_[(i - 1) % kWindow].request);
    }
    for (uint32_t i = 0; i < last_count_; ++i) MRC_INVARIANT(last_[i] != nullptr);
  }

 private:
  struct Entry {
    uint64_t request = 0;
    Loan loan;
  };
  std::array<Entry, kWindow> loans_;  // ring, oldest first
  uint64_t head_ = 0, tail_ = 0;
  std::array<Loan, kWindow> last_;
  uint32_t last_count_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim
