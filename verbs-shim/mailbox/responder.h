// Responder: carries out the peer's requests, in their order: matches SENDs and immediates with receive
// requests, serves READs and atomics, confirms. [VRB-RSP-*]
//
// Arrived requests wait in a ring. `match_` passes over it first: it assigns receive requests to SENDs and immediates
// and sends announced SENDs the destination of their data, many at a time; `head_` follows and completes in order.
// Without a receive request everything waits, as after an RNR NAK; READs and atomics wait until all before them is
// complete. Confirmations are coalesced: flush_ack() sends one for all of them.
//
// Under the queue pair's lock.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "mailbox/key_table.h"
#include "mailbox/link.h"
#include "mailbox/outbox.h"

namespace mrc::shim {

class Responder {
 public:
  struct Shape {
    uint32_t immediates = 1;  // WRITEs WITH IMMEDIATE that can wait here: receive requests posted to MRC
    uint32_t qpn = 0;
    const void* domain = nullptr;
  };

  Responder(Link* link, Outbox* outbox, KeyTable* keys, const Shape& shape);

  void set(unsigned access, uint8_t rnr_timer, uint32_t source_qpn) {
    access_ = access;
    rnr_timer_ = rnr_timer;
    source_qpn_ = source_qpn;
  }
  // A note of the peer's requester; `mailbox` is this side's.
  void on_note(const Immediate& note, const uint8_t* mailbox);
  void on_write_imm(const ibv_wc& wc);  // one that the MRC library delivered
  // Continues: there is a receive request, or room to write. Returns true while it waits for a receive request.
  bool run();
  bool starved() const { return starved_; }
  void flush_ack();
  std::optional<uint32_t> take_confirmation() {
    if (!owes_ack()) return std::nullopt;
    return acknowledged_ = completed_;
  }
  bool owes_ack() const { return completed_ != acknowledged_ && !dead_; }
  // Consumed receive requests of the MRC queue, which the caller posts again.
  uint32_t take_used_up() {
    const uint32_t n = used_up_;
    used_up_ = 0;
    return n;
  }
  void return_used_up(uint32_t n) { used_up_ += n; }  // they could not be posted
  uint32_t used_up() const { return used_up_; }

  // The application, or its process, ends the connection. A peer that waits for the answer to a READ or an atomic is
  // told. [VRB-RSP-11]
  void abandon();
  void flush();  // receive requests that were matched and are not complete
  void reset();

 private:
  struct Entry {
    Note note = Note::kNone;  // kNone: a WRITE WITH IMMEDIATE
    bool done = false;
    bool with_imm = false;
    bool solicited = false;
    uint32_t number = 0;
    uint32_t length = 0;
    uint32_t imm = 0;
    uint64_t wr_id = 0;
  };

  Entry& at(uint64_t index) { return ring_[index & mask_]; }
  bool push(const Entry& entry);
  bool match(Entry* e);
  bool match_send(Entry* e, const Request& request);
  bool read(const Entry& e, const Request& request);
  bool atomic(const Entry& e, const Request& request);
  void complete();
  void finish(const Entry& e, ibv_wc_status status);
  void refuse(uint32_t number, ibv_wc_status status, ibv_event_type event);

  Link* const link_;
  Outbox* const outbox_;
  KeyTable* const keys_;
  const Shape shape_;
  uint64_t mask_;
  std::unique_ptr<Entry[]> ring_;
  const uint8_t* mailbox_ = nullptr;
  uint64_t head_ = 0, match_ = 0, tail_ = 0;
  uint32_t expected_ = 1;      // number of the next request
  uint32_t completed_ = 0;     // number of the last one carried out
  uint32_t acknowledged_ = 0;  // that was confirmed to the peer
  uint32_t used_up_ = 0;
  uint32_t told_not_ready_ = UINT32_MAX;
  unsigned access_ = 0;
  uint8_t rnr_timer_ = 0;
  uint32_t source_qpn_ = 0;
  bool starved_ = false;
  bool dead_ = false;
};

}  // namespace mrc::shim
