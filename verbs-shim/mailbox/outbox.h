// Outbox: common to both halves of a connection for writing: room in the MRC send queue, staging memory for headers and
// replies, and notes. Requests of the application and messages of the protocol share one MRC send queue; the protocol's
// are always signalled, so that room is freed.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <utility>

#include "mailbox/key_table.h"
#include "mailbox/lent_memory.h"
#include "mailbox/link.h"
#include "mailbox/mrc_send_slots.h"
#include "mailbox/staging_memory.h"
#include "mailbox/unposted_writes.h"
#include "mailbox/wire.h"

namespace mrc::shim {

class Outbox {
 public:
  static constexpr uint32_t kInternal = UINT32_MAX;  // slot of a write that belongs to no request
  static constexpr uint32_t kTest =
      UINT32_MAX - 1;  // of test_peer()'s: as kInternal, but own_in_flight() leaves it out
  static constexpr uint32_t kReadData = UINT32_MAX - 2;  // of the data of a READ of the peer's, which is not signalled
  static bool is_internal(uint32_t slot) { return slot >= kReadData; }

  // `slots`: size of the MRC send queue. `id`: upper half of the wr_id of everything posted; the lower is the slot.
  Outbox(Link* link, uint32_t slots, uint32_t id, const StagingMemory& staging)
      : link_(link), id_(static_cast<uint64_t>(id) << 32), slots_(slots), staging_(staging) {}

  // Writes that can be posted now; one slot is reserved for the note of a refusal.
  uint32_t room() const { return waits_for_memory() ? 0 : slots_.room(kReserved); }
  // Links the n requests and posts them; there is room. While MRC has no memory for them they wait here, in order, and
  // there is no room for more. False: the MRC QP refuses them, the connection is lost.
  bool post(ibv_send_wr* requests, uint32_t n);
  // A write without an effect, unless one is in flight already: MRC finds out whether the peer is there only by
  // something that the peer has to acknowledge. The result is that of post().
  bool test_peer();
  bool waits_for_memory() const { return !unposted_.empty(); }
  // Posts the waiting requests as far as memory allows; the result is that of post().
  bool retry();
  void drop();  // the connection ends without them: MRC's queue pair sends nothing any more
  // A write of zero bytes with an immediate. False: no room (kRefused may use the reserved slot), or refused.
  bool note(const Immediate& immediate);
  // The same, behind writes out of lent memory: the loan is returned when MRC has completed the note, and with it
  // everything before it. There is room for a loan.
  bool note(const Immediate& immediate, Loan loan);
  // Memory of a request whose completion the application has, while MRC's queue pair goes on to send a last message:
  // lent until drop(). Null: nothing.
  void lend_until_drop(Loan loan) { lent_.add_until_clear(std::move(loan)); }
  bool can_lend() const { return !lent_.full(); }
  // The reply in staging memory of that number, `bytes` long.
  bool reply(const Immediate& immediate, uint32_t bytes);
  const StagingMemory& staging() const { return staging_; }
  uint64_t wr_id(uint32_t slot) const { return id_ | slot; }

  // A completion of the MRC send queue was polled. Completions come in the order of posting. From the first failure on
  // MRC's queue pair sends nothing, and every request has one, unsignalled ones too (MRC-QP-2).
  void on_completion(uint32_t slot, ibv_wc_status status);
  // Messages of the protocol that the peer may not have received yet.
  uint32_t own_in_flight() const { return own_in_flight_; }
  // Requests that were posted since the last reset, up to the last signalled one, and of all those that MRC is known to
  // have completed.
  uint64_t posted_up_to_signalled() const { return slots_.posted_up_to_signalled(); }
  uint64_t completed() const { return slots_.released(); }
  void reset();
  void check() const;

 private:
  static constexpr uint32_t kReserved = 1;
  bool keep_unposted(const ibv_send_wr* list);
  ibv_send_wr message(uint32_t slot, ibv_wr_opcode opcode) const;

  Link* const link_;
  const uint64_t id_;
  MrcSendSlots slots_;
  const StagingMemory staging_;
  LentMemory lent_;
  UnpostedWrites unposted_;
  uint32_t own_in_flight_ = 0;
  bool failed_ = false;  // completions and signalled requests do not match any more
};

}  // namespace mrc::shim
