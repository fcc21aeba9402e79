// Responder: carries out the peer's requests, in their order: matches SENDs and immediates with receive
// requests, serves READs and atomics, confirms. [VRB-RSP-*]
//
// Arrived requests are matched first: SENDs and immediates with receive requests, and announced SENDs get the
// destination of their data, many at a time. Completion follows in order. Without a receive request everything waits,
// as after an RNR NAK; READs and atomics wait until all before them is complete. Confirmations are coalesced:
// flush_ack() sends one for all of them.
//
// Under the queue pair's lock.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "mailbox/arrived_requests.h"
#include "mailbox/key_table.h"
#include "mailbox/link.h"
#include "mailbox/outbox.h"
#include "mailbox/request_sequence.h"

namespace mrc::shim {

class Responder {
 public:
  struct Shape {
    uint32_t immediates = 1;  // WRITEs WITH IMMEDIATE that can wait here: receive requests posted to MRC
    uint32_t qpn = 0;
    const void* domain = nullptr;
  };

  Responder(Link* link, Outbox* outbox, KeyTable* keys, const Shape& shape);

  // Attributes of the queue pair.
  struct Attributes {
    unsigned access = 0;  // IBV_ACCESS_*
    uint8_t rnr_timer = 0;
    uint32_t source_qpn = 0;
  };
  void set_attributes(const Attributes& attributes) { attributes_ = attributes; }
  // A note of the peer's requester; `mailbox` is this side's.
  void on_note(const Immediate& note, const uint8_t* mailbox);
  void on_write_imm(const ibv_wc& wc);  // one that the MRC library delivered
  // Continues: there is a receive request, or room to write. Returns true while it waits for a receive request.
  bool run();
  bool waits_for_receive() const { return waits_for_receive_; }
  void flush_ack();
  std::optional<uint32_t> take_confirmation() {
    if (!ack_due()) return std::nullopt;
    sequence_.acknowledge(sequence_.completed());
    return sequence_.completed();
  }
  bool ack_due() const { return sequence_.ack_due() && !stopped_; }
  // Consumed receive requests of the MRC queue, which the caller posts again.
  uint32_t take_consumed() {
    const uint32_t n = consumed_;
    consumed_ = 0;
    return n;
  }
  void return_consumed(uint32_t n) {  // they could not be posted
    consumed_ += n;
    check();
  }
  uint32_t consumed() const { return consumed_; }
  // Nothing that has arrived is still to be carried out or confirmed.
  bool is_done() const { return !ack_due() && (stopped_ || !requests_.has_unmatched()); }
  bool has_deferred_work() const { return ack_due() || consumed_ > 0; }

  // MRC's queue pair has failed. True: by the data of an announced SEND, whose receive request has the error when the
  // connection ends. [VRB-RSP-14]
  bool find_lost_receive();
  // The application, or its process, ends the connection. A peer that waits for the answer to a READ or an atomic is
  // told. [VRB-RSP-11]
  void abandon();
  void flush();  // receive requests that were matched and are not complete
  void reset();
  void check() const;

 private:
  bool match(ArrivedRequest* request);
  bool match_send(ArrivedRequest* arrived, const Request& request);
  bool announce_landing(uint32_t number, uint32_t bytes);
  std::optional<uint32_t> stage_landing(const ArrivedRequest& arrived, const Receive& receive) const;
  bool read(const ArrivedRequest& arrived, const Request& request);
  bool atomic(const ArrivedRequest& arrived, const Request& request);
  void complete();
  void fail(const ArrivedRequest& arrived);
  void finish(const ArrivedRequest& arrived, ibv_wc_status status);
  void refuse(uint32_t number, ibv_wc_status status, std::optional<ibv_event_type> event);

  Link* const link_;
  Outbox* const outbox_;
  KeyTable* const keys_;
  const Shape shape_;
  Attributes attributes_;
  const uint8_t* mailbox_ = nullptr;
  ArrivedRequests requests_;
  RequestSequence sequence_;
  uint32_t consumed_ = 0;
  uint32_t not_ready_sent_ = UINT32_MAX;  // number of the last request that the peer has to wait with
  Access gone_;                           // of the SEND that is to fail because its memory is gone
  bool waits_for_receive_ = false;
  bool stopped_ = false;
};

}  // namespace mrc::shim
