// Requester: the send queue of a queue pair as verbs defines it for RC, on top of MRC writes.
//
// Requests wait in a ring until they may be sent. WRITE and WRITE_WITH_IMM are passed to MRC unchanged, in batches.
// SEND, READ and atomics become numbered messages to the peer's mailbox; at most kWindow of them are unanswered. A SEND
// of more than kEagerBytes is announced, receives the destination of its data, and writes it there; SENDs behind it may
// overtake its data, everything else waits. Requests leave the ring in order: a WRITE is done when MRC has completed
// it, a message when MRC has completed it and the peer has confirmed it. [VRB-REQ-*]
//
// Under the queue pair's lock, but for slots_free() and release(). Time in nanoseconds, given by the caller.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "mailbox/key_table.h"
#include "mailbox/link.h"
#include "mailbox/outbox.h"

namespace mrc::shim {

class Requester {
 public:
  struct Shape {
    uint32_t max_wr = 1;
    uint32_t max_sge = 1;
    uint32_t max_inline = 0;
    bool signal_all = false;
    uint32_t qpn = 0;
    const void* domain = nullptr;
  };
  static constexpr uint32_t kMaxMessage = 1u << 30;

  Requester(Link* link, Outbox* outbox, KeyTable* keys, const Shape& shape);

  // Takes one request into the ring; 0 or an errno value. advance() sends.
  [[nodiscard]] int post(const ibv_send_wr& wr);
  int would_take(const ibv_send_wr* list) const;  // the result that post() would have for the whole list
  void advance();
  // From the MRC completion queue: a request of this side, `slot` as posted.
  void on_completion(uint32_t slot, ibv_wc_status status);
  // A note of the peer's responder; `mailbox` is this side's.
  void on_note(const Immediate& note, const uint8_t* mailbox, uint64_t now);
  // The confirmation that a request of the peer carries.
  void on_confirmation(uint32_t number);
  // The peer has confirmed a message, and MRC has yet to complete it. Messages of the peer after a confirmation must
  // not overtake the completion: with RC the acknowledgement precedes them, too, and programs rely on it. [VRB-RSP-9]
  bool behind() const { return head_ < confirmed_end_; }
  // Called from time to time: when the oldest message without an answer is the same as at the last call, the peer is
  // tested, because it may be gone. Returns whether there is a message without an answer. [VRB-REQ-7]
  bool keep_alive();
  // Gives up on a request whose receiver was not ready for too long. [VRB-RNR-1]
  void tick(uint64_t now);
  uint64_t deadline() const { return rnr_deadline_; }  // UINT64_MAX: none

  void set_limits(uint32_t reads, uint8_t rnr_retry, uint32_t reply_psn) {
    max_reads_ = reads;
    reply_psn_ = reply_psn;
    rnr_retry_ = rnr_retry;
  }
  void flush();  // all remaining requests complete as flushed, and so do later ones
  void reset();
  void release(uint32_t slots) { taken_.fetch_sub(slots, std::memory_order_release); }
  bool idle() const { return head_ == tail_; }

 private:
  struct Entry {
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
    bool signaled = false;
    bool fenced = false;
    bool inlined = false;
    bool solicited = false;
    bool message = false;    // carried through the mailbox
    bool delivered = false;  // MRC has completed the message
  };
  struct Batch;

  Entry& at(uint64_t index) { return ring_[index & mask_]; }
  ibv_sge* sges_of(uint64_t index) { return &sges_[(index & mask_) * max_sge_]; }
  uint8_t* inline_of(uint64_t index) { return &inline_[(index & mask_) * shape_.max_inline]; }
  int check(const ibv_send_wr& wr, uint64_t* length) const;
  bool fill(const ibv_send_wr& wr, uint64_t length);
  bool window_open() const { return next_ - 1 - confirmed_ < kWindow; }
  bool transmit(uint64_t index, Batch* batch);
  bool transmit_send(uint64_t index, Batch* batch);
  bool refuse_locally(uint64_t index);
  bool transmit_read(uint64_t index, Batch* batch);
  bool transmit_atomic(uint64_t index, Batch* batch);
  void stage(uint64_t index, Note note, const Request& request, const Segment* segments, uint32_t count, Batch* batch);
  void send_cleared();
  bool write_data(uint64_t index, const Segment* segments, uint32_t count);
  void confirm(uint64_t number);
  void retire_before(uint64_t end);
  void give_up_not_ready();
  uint64_t extend(uint32_t number) const;
  bool outstanding(uint64_t number) const { return number > confirmed_ && number < next_; }
  void retire();
  void complete(Entry& e, ibv_wc_status status);
  void lend(uint64_t index);
  void set_deadline(uint64_t at);
  void give_up(uint64_t index, ibv_wc_status status);

  Link* const link_;
  Outbox* const outbox_;
  KeyTable* const keys_;
  const Shape shape_;
  const uint32_t max_sge_;
  uint64_t mask_;
  std::unique_ptr<Entry[]> ring_;
  std::unique_ptr<ibv_sge[]> sges_;
  std::unique_ptr<uint8_t[]> inline_;
  std::atomic<uint32_t> taken_{0};  // posted and not yet polled
  uint64_t head_ = 0;               // oldest that is not complete
  uint64_t sent_ = 0;               // first that was not passed to MRC
  uint64_t tail_ = 0;
  uint64_t written_ = 0;  // MRC has completed every WRITE before this index
  uint32_t slots_ = 0;    // complete, unsignalled, not yet freed

  uint64_t next_ = 1;           // number of the next message
  uint64_t confirmed_ = 0;      // every message up to it is confirmed
  uint64_t confirmed_end_ = 0;  // index behind the last of them
  uint64_t watched_ = 0;        // number of the oldest message without an answer at the last keep_alive(); 0: none
  std::array<uint64_t, kWindow> by_number_{};
  uint32_t max_reads_ = 1;
  uint32_t reads_ = 0;  // READs and atomics in flight
  uint8_t rnr_retry_ = 7;
  uint32_t reply_psn_ = 0;
  uint64_t rnr_number_ = 0;
  uint64_t rnr_deadline_ = UINT64_MAX;
  bool rnr_over_ = false;  // the deadline has passed; requests before rnr_number_ are not confirmed yet

  // Announced SENDs whose data has not been sent, oldest first.
  struct Announced {
    uint64_t number = 0;
    uint16_t count = 0;
    bool cleared = false;
    std::array<Segment, kMaxSegments> segments;
  };
  std::unique_ptr<Announced[]> announced_;  // ring of kWindow
  uint64_t announced_head_ = 0, announced_tail_ = 0;
  bool dead_ = false;
};

// The time of an RNR timer code, IBTA table 45, in nanoseconds.
uint64_t rnr_time(uint8_t code);

}  // namespace mrc::shim
