// SendQueue: the posted work requests of one QP in posting order, from post to completion. Packets are numbered here,
// in 64-bit sequence numbers (seq); the wire's PSN is sq_psn + seq modulo 2^24. A packet's payload is found again from
// its seq, so that no per-packet state is needed for a retransmission [MRC-REQ-1]. The ring doubles until it holds the
// maximum that was ever outstanding, so that an idle QP stays small regardless of its configured size.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/memory.h"
#include "core/types.h"
#include "invariant.h"

namespace mrc::core {

struct Wqe {
  uint64_t wr_id = 0;
  uint64_t remote_addr = 0;
  uint64_t first_seq = 0;
  Instant posted;
  uint32_t packets = 1;
  uint32_t length = 0;
  Key rkey;
  uint32_t imm = 0;
  uint16_t msn = 0;
  uint16_t rqmsn = 0;
  uint8_t num_sge = 0;
  bool with_imm : 1;
  bool signaled : 1;
  bool inline_data : 1;
  Sge sge0;

  uint64_t end_seq() const { return first_seq + packets; }
};
static_assert(sizeof(Wqe) <= 72);

class SendQueue {
 public:
  static constexpr uint64_t kMaxMessage = 1ull << 30;  // bytes of one request, as the device reports it

  void init(const QpCaps& caps) { caps_ = caps; }
  void reset();
  // Throws std::bad_alloc, and changes nothing then.
  PostResult post(Instant now, const SendWr& wr, uint32_t mtu);

  bool empty() const { return head_ == tail_; }
  uint32_t size() const { return static_cast<uint32_t>(tail_ - head_); }
  uint64_t end_seq() const { return next_seq_; }  // one past the last packet posted
  const Wqe& front() const { return at(head_); }
  void pop_front() { ++head_; }
  // The request that holds `seq`; seq must lie in [front().first_seq, end_seq()). `hint` is the position of the
  // caller's previous result (absolute index), updated; sequential callers cost one comparison.
  const Wqe& find(uint64_t seq, uint64_t* hint) const;
  // Appends the iovecs of `bytes` bytes of the message from `offset`. Returns the count, 0 for no bytes, or -1 when a
  // key or range is bad (local protection error).
  int gather(const Wqe& w, uint64_t offset, uint32_t bytes, const MemoryTable& memory, uint32_t pd, iovec* out,
             int room) const;
  // The fault at this address, of an element of the request.
  MemoryFault fault_of(const Wqe& w, const MemoryTable& memory, uint64_t address) const;
  // Requests by number, from front() on.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (uint64_t i = head_; i < tail_; ++i) visit(at(i));
  }
  void check() const;

 private:
  // The slots of one ring: requests, and the other data of a request, by the same slot.
  struct Slots {
    Slots() = default;
    Slots(uint64_t slots, const QpCaps& caps);

    std::vector<Wqe> wqes;
    std::vector<Sge> more_sges;         // SGEs 1.. of each slot
    std::vector<uint8_t> inline_bytes;  // none until a request has inline data
  };
  static constexpr uint64_t kInitialSlots = 16;

  const Wqe& at(uint64_t i) const { return slots_.wqes[i & mask_]; }
  const Sge& sge(const Wqe& w, uint32_t i) const;
  static bool copy_inline(const SendWr& wr, uint8_t* to);
  void grow();

  Slots slots_;
  QpCaps caps_;
  uint64_t mask_ = 0;
  uint64_t head_ = 0, tail_ = 0;
  uint64_t next_seq_ = 0;
  uint16_t next_msn_ = 0, next_rqmsn_ = 0;  // both start at 0 [MRC-CHOICE-Q10]
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
