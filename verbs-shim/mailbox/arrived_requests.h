// ArrivedRequests: the peer's requests, oldest first, in three stages: arrived, matched with a receive request (or
// being answered), and complete, in which order they leave. Matching may run ahead of completion: of announced SENDs
// many have their destination at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "invariant.h"
#include "mailbox/wire.h"

namespace mrc::shim {

// How a SEND fails that was matched, when its turn comes. [VRB-RSP-3] [VRB-RSP-12]
enum class SendFailure : uint8_t {
  kNone,
  kTooLong,
  kRefused,  // its memory does not admit it
  kGone,     // its memory is gone
  kLost,     // its memory went while its data came, and the connection with it [VRB-RSP-14]
};

struct ArrivedRequest {
  Note note = Note::kNone;  // kNone: a WRITE WITH IMMEDIATE
  SendFailure failure = SendFailure::kNone;
  bool done = false;  // or has failed
  bool with_imm = false;
  bool solicited = false;
  uint32_t number = 0;
  uint32_t length = 0;
  uint32_t imm = 0;
  uint64_t wr_id = 0;
};

class ArrivedRequests {
 public:
  explicit ArrivedRequests(uint32_t capacity) : mask_(size_for(capacity) - 1), ring_(new ArrivedRequest[mask_ + 1]) {}

  bool push(const ArrivedRequest& request) {  // false: full
    if (tail_ - head_ > mask_) return false;
    at(tail_++) = request;
    check();
    return true;
  }

  bool has_unmatched() const { return match_ != tail_; }
  ArrivedRequest& unmatched() { return at(match_); }  // the oldest
  void set_matched() {
    ++match_;
    check();
  }

  bool has_matched() const { return head_ != match_; }
  // The last one that was matched is to fail, and nothing behind it is carried out.
  bool failing() const { return has_matched() && at(match_ - 1).failure != SendFailure::kNone; }
  const ArrivedRequest& matched() const { return at(head_); }  // the oldest
  // The oldest matched one leaves; valid until the next push().
  const ArrivedRequest& pop() {
    const ArrivedRequest& oldest = at(head_++);
    check();
    return oldest;
  }
  // The data of an announced SEND is in place. Numbers of others have no effect.
  void finish(uint32_t number) {
    for (uint64_t i = head_; i != match_; ++i)
      if (at(i).note == Note::kReady && at(i).number == number) at(i).done = true;
    check();
  }

  // The first announced SEND that waits for its data and is `lost`. Null: there is none.
  template <typename Lost>
  ArrivedRequest* first_waiting(const Lost& lost) {
    for (uint64_t i = head_; i != match_; ++i)
      if (at(i).note == Note::kReady && !at(i).done && lost(at(i))) return &at(i);
    return nullptr;
  }
  // The first that was not carried out, if among those not carried out is a READ or an atomic. Null: there is none.
  const ArrivedRequest* first_if_answer_is_due() const {
    const ArrivedRequest* first = nullptr;
    bool due = false;
    for (uint64_t i = head_; i != tail_; ++i) {
      const ArrivedRequest& request = at(i);
      if (request.done || request.note == Note::kNone) continue;
      if (first == nullptr) first = &request;
      due |= request.note == Note::kRead || request.note == Note::kAtomic;
    }
    return due ? first : nullptr;
  }
  void clear() { head_ = match_ = tail_; }
  // None is carried out before it is matched.
  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(head_ <= match_ && match_ <= tail_ && tail_ - head_ <= mask_ + 1);
    if (!pace_.due(tail_ - match_)) return;
    for (uint64_t i = match_; i != tail_; ++i) MRC_INVARIANT(!at(i).done);
  }

 private:
  static uint64_t size_for(uint32_t capacity) {
    uint64_t n = 1;
    while (n < capacity) n *= 2;
    return n;
  }
  ArrivedRequest& at(uint64_t index) { return ring_[index & mask_]; }
  const ArrivedRequest& at(uint64_t index) const { return ring_[index & mask_]; }

  const uint64_t mask_;
  const std::unique_ptr<ArrivedRequest[]> ring_;
  uint64_t head_ = 0, match_ = 0, tail_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim
