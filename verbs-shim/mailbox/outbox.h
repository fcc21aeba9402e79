// Outbox: common to both halves of a connection for writing: room in the MRC send queue, staging memory for headers and
// replies, and notes. Requests of the application and messages of the protocol share one MRC send queue; the protocol's
// are always signalled, so that room is freed.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "mailbox/key_table.h"
#include "mailbox/link.h"
#include "mailbox/wire.h"

namespace mrc::shim {

class Outbox {
 public:
  // Staging memory, registered by the owner: kStagingBytes of it.
  static constexpr uint32_t kStagingBytes = 2 * kWindow * kReplyBytes;
  static constexpr uint32_t kInternal = UINT32_MAX;  // slot of a write that belongs to no request
  static constexpr uint32_t kTest =
      UINT32_MAX - 1;  // of test_peer()'s: as kInternal, but own_in_flight() leaves it out
  static bool is_internal(uint32_t slot) { return slot >= kTest; }

  // `slots`: size of the MRC send queue. `id`: upper half of the wr_id of everything posted; the lower is the slot.
  Outbox(Link* link, uint32_t slots, uint32_t id, uint8_t* staging, uint32_t staging_key);

  // Writes that can be posted now; one slot is reserved for the note of a refusal.
  uint32_t room() const {
    const uint64_t used = posted_ - released_ + kReserved;
    if (waits()) return 0;
    return used < slots_ ? static_cast<uint32_t>(slots_ - used) : 0;
  }
  // Links the n requests and posts them; there is room. While MRC has no memory for them they wait here, in order, and
  // there is no room for more. False: the MRC QP refuses them, the connection is lost.
  bool post(ibv_send_wr* requests, uint32_t n);
  // A write without an effect, unless one is in flight already: MRC finds out whether the peer is there only by
  // something that the peer has to acknowledge. The result is that of post().
  bool test_peer();
  bool waits() const { return waiting_head_ != waiting_tail_; }
  // Posts the waiting requests as far as memory allows; the result is that of post().
  bool retry();
  void drop();  // the connection ends without them: MRC's queue pair sends nothing any more
  // A write of zero bytes with an immediate. False: no room (kRefused may use the reserved slot), or refused.
  bool note(const Immediate& immediate);
  // The same, behind writes out of lent memory: the loan is returned when MRC has completed the note, and with it
  // everything before it. There is room for a loan.
  bool note(const Immediate& immediate, Loan loan);
  // Memory of a request that the application takes for over, while MRC's queue pair goes on to send a last message:
  // lent until drop(). Null: nothing.
  void lend_to_the_end(Loan loan);
  bool can_lend() const { return loans_tail_ - loans_head_ < kWindow; }
  // The reply in staging memory of that number, `bytes` long.
  bool reply(const Immediate& immediate, uint32_t bytes);
  uint8_t* request_staging(uint32_t number) const { return staging_ + number % kWindow * kReplyBytes; }
  uint8_t* reply_staging(uint32_t number) const { return staging_ + (kWindow + number % kWindow) * kReplyBytes; }
  ibv_sge request_sge(uint32_t number, uint32_t bytes) const {
    return {reinterpret_cast<uint64_t>(request_staging(number)), bytes, staging_key_};
  }
  uint64_t wr_id(uint32_t slot) const { return id_ | slot; }

  // A completion of the MRC send queue was polled. Completions come in the order of posting.
  void on_completion(uint32_t slot);
  // Messages of the protocol that the peer may not have received yet.
  uint32_t own_in_flight() const { return own_in_flight_; }
  void reset();

 private:
  static constexpr uint64_t kReserved = 1;
  // What one call of either half posts without asking for room() again, and the note of a refusal.
  static constexpr uint32_t kMaxWaiting = 2 * kMaxSegments + 8;
  struct Waiting {
    ibv_send_wr wr;
    ibv_sge sges[kMaxSegments + 1];
  };
  struct Lent {
    uint64_t mark = 0;  // index in marks_ of the request that ends it
    Loan loan;
  };
  bool keep(const ibv_send_wr* list);
  void return_loan() { loans_[loans_head_++ % kWindow].loan.reset(); }

  Link* const link_;
  const uint64_t slots_;
  const uint64_t id_;
  uint8_t* const staging_;
  const uint32_t staging_key_;
  uint64_t posted_ = 0;          // since the beginning, all of them
  uint64_t released_ = 0;        // whose slot is free again
  std::vector<uint64_t> marks_;  // ring: value of posted_ after each signalled request in flight
  uint64_t marks_head_ = 0, marks_tail_ = 0;
  uint32_t own_in_flight_ = 0;
  std::array<Lent, kWindow> loans_;  // ring, oldest first
  uint64_t loans_head_ = 0, loans_tail_ = 0;
  std::array<Loan, kWindow> last_loans_;  // one for a region
  uint32_t last_loans_count_ = 0;
  std::unique_ptr<Waiting[]> waiting_;  // not initialised: most connections never touch it
  uint32_t waiting_head_ = 0, waiting_tail_ = 0;
};

}  // namespace mrc::shim
