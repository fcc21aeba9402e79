// Requester: the send queue of a queue pair as verbs defines it for RC, on top of MRC writes.
//
// Requests wait in a ring until they may be sent. WRITE and WRITE_WITH_IMM are passed to MRC unchanged, in batches.
// SEND, READ and atomics become numbered messages to the peer's mailbox; at most kWindow of them are unanswered. A SEND
// of more than kEagerBytes is announced, receives the destination of its data, and writes it there; SENDs behind it may
// overtake its data, everything else waits. Requests leave the ring in order: a WRITE is done when MRC has completed
// it, a message when MRC has completed it and the peer has confirmed it. [VRB-REQ-*]
//
// Under the queue pair's lock, but for release(). Time in nanoseconds, given by the caller.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "mailbox/announced_sends.h"
#include "mailbox/key_table.h"
#include "mailbox/link.h"
#include "mailbox/message_window.h"
#include "mailbox/not_ready_wait.h"
#include "mailbox/outbox.h"
#include "mailbox/request_ring.h"
#include "mailbox/send_positions.h"
#include "send_slots.h"

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
  bool completion_due() const { return pos_.head < window_.confirmed_end(); }
  // Called from time to time: when the oldest message without an answer is the same as at the last call, the peer is
  // tested, because it may be gone. Returns whether there is a message without an answer. [VRB-REQ-7]
  bool keep_alive();
  // MRC's queue pair has failed. True: by the data of a READ, which has failed with all the rest. [VRB-RSP-14]
  bool fail_lost_read();
  // Gives up on a request whose receiver was not ready for too long. [VRB-RNR-1]
  void tick(uint64_t now);
  uint64_t deadline() const { return not_ready_.deadline(); }  // UINT64_MAX: none

  void set_limits(uint32_t reads, uint8_t rnr_retry, uint32_t reply_psn) { limits_ = {reads, rnr_retry, reply_psn}; }
  void flush();  // all remaining requests complete as flushed, and so do later ones
  void reset();
  void release(uint32_t slots) { slots_.release(slots); }
  bool idle() const { return pos_.idle(); }
  void check() const;

 private:
  struct Limits {
    uint32_t reads = 1;
    uint8_t rnr_retry = 7;
    uint32_t reply_psn = 0;
  };
  struct Batch;

  int validate(const ibv_send_wr& wr, uint64_t* length) const;
  int fill(const ibv_send_wr& wr, uint64_t length);
  bool transmit(uint64_t index, Batch* batch);
  bool transmit_send(uint64_t index, Batch* batch);
  bool refuse_locally(uint64_t index);
  bool transmit_read(uint64_t index, Batch* batch);
  bool transmit_atomic(uint64_t index, Batch* batch);
  void stage(uint64_t index, Note note, const Request& request, const Segment* segments, uint32_t count, Batch* batch);
  void send_cleared();
  bool write_data(uint64_t index, const Segment* segments, uint32_t count);
  bool fail_if_unsent(uint64_t number);
  ibv_wc_status meaning_of(uint32_t slot, uint64_t index, ibv_wc_status status) const;
  void confirm(uint64_t number);
  void retire_before(uint64_t end);
  void fail_not_ready();
  void retire();
  void complete(SendRequest& e, ibv_wc_status status);
  void lend(uint64_t index);
  void fail_request(uint64_t index, ibv_wc_status status);
  void fail_after_confirmed(uint64_t index, ibv_wc_status status);

  Link* const link_;
  Outbox* const outbox_;
  KeyTable* const keys_;
  const Shape shape_;
  RequestRing ring_;
  SendPositions pos_;
  SendSlots slots_;

  MessageWindow window_;
  uint64_t oldest_at_check_ = 0;  // number of the oldest message without an answer at the last keep_alive(); 0: none
  AnnouncedSends announced_;
  Limits limits_;
  uint32_t reads_ = 0;  // READs and atomics in flight
  NotReadyWait not_ready_;
  bool stopped_ = false;
  mutable InvariantPace pace_;
};

// The time of an RNR timer code, IBTA table 45, in nanoseconds.
uint64_t rnr_time(uint8_t code);

}  // namespace mrc::shim
