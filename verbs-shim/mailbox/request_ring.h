// RequestRing: the requests of a send queue, each with its segments and its inline data, by an index that only grows.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "invariant.h"

namespace mrc::shim {

struct SendRequest {
  struct Flags {
    bool signaled = false;
    bool fenced = false;
    bool inlined = false;
    bool solicited = false;
  };

  uint64_t wr_id = 0;
  uint64_t remote_addr = 0;
  uint64_t operand = 0;
  uint64_t swap = 0;
  uint64_t number = 0;  // of a message
  uint32_t rkey = 0;
  uint32_t length = 0;
  uint32_t imm = 0;
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  uint16_t num_sge = 0;
  Flags flags;
  bool message = false;  // carried through the mailbox
  // MRC has completed the message. What the requester notes of a request is kept beside it, and in no array of its own:
  // retire() and confirm() read both.
  bool delivered = false;
};
static_assert(sizeof(SendRequest) == 64);  // the size of a cache line

class RequestRing {
 public:
  RequestRing(uint32_t max_wr, uint32_t max_sge, uint32_t max_inline)
      : max_sge_(std::max(max_sge, 1u)),
        max_inline_(max_inline),
        mask_(size_for(max_wr) - 1),
        requests_(new SendRequest[mask_ + 1]),
        sges_(new ibv_sge[(mask_ + 1) * max_sge_]) {}

  uint64_t size() const { return mask_ + 1; }
  SendRequest& at(uint64_t index) { return requests_[index & mask_]; }
  ibv_sge* sges_of(uint64_t index) { return &sges_[(index & mask_) * max_sge_]; }
  // Null: no memory. It is allocated for the first inline data, of which most queue pairs have none.
  uint8_t* inline_of(uint64_t index) {
    if (inline_ == nullptr) inline_.reset(new (std::nothrow) uint8_t[(mask_ + 1) * max_inline_]);
    return inline_ != nullptr ? &inline_[(index & mask_) * max_inline_] : nullptr;
  }
  const SendRequest& at(uint64_t index) const { return requests_[index & mask_]; }
  uint32_t slot_of(uint64_t index) const { return static_cast<uint32_t>(index & mask_); }
  // The first index from `head` on that has this slot.
  uint64_t index_of(uint32_t slot, uint64_t head) const { return head + ((slot - head) & mask_); }
  // The requests in [head, tail) have room here, and their data is as long as they say.
  void check(uint64_t head, uint64_t tail) const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(head <= tail && tail - head <= size());
    if (!pace_.due(tail - head)) return;
    for (uint64_t i = head; i != tail; ++i) {
      const SendRequest& e = at(i);
      MRC_INVARIANT(e.num_sge <= max_sge_ && (!e.flags.inlined || e.length <= max_inline_));
      uint64_t bytes = 0;
      for (uint32_t k = 0; k < e.num_sge; ++k) bytes += sges_[(i & mask_) * max_sge_ + k].length;
      MRC_INVARIANT(bytes == e.length);
    }
  }

 private:
  static uint64_t size_for(uint32_t max_wr) {
    uint64_t n = 1;
    while (n < max_wr) n *= 2;
    return n;
  }

  const uint32_t max_sge_;
  const uint32_t max_inline_;
  const uint64_t mask_;
  const std::unique_ptr<SendRequest[]> requests_;
  const std::unique_ptr<ibv_sge[]> sges_;
  std::unique_ptr<uint8_t[]> inline_;
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim
