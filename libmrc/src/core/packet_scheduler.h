// PacketScheduler: chooses the next packet of a QP. A burst has lost packets or new ones, lost ones first. New ones
// are limited by the peer's window (MPR) and by its limit of WriteIMMs in flight; the congestion window, which
// counts bytes, is checked by the requester. Sans-IO; no allocation. [MRC-REQ-2] [MRC-WIMM-3]
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/send_queue.h"
#include "core/sent_packets.h"
#include "invariant.h"
#include "wire/opcodes.h"
#include "wire/packet.h"

namespace mrc::core {

class PacketScheduler {
 public:
  PacketScheduler(const SendQueue* queue, SentPackets* sent) : queue_(*queue), sent_(*sent) {}

  struct Packet {
    const Wqe* request = nullptr;
    uint64_t seq = 0;
    uint64_t offset = 0;   // of its payload in the message
    uint32_t payload = 0;  // bytes
    uint32_t bytes = 0;    // of UDP payload
    wire::Opcode opcode = wire::Opcode::kWriteOnly;
    bool begins_wimm = false;

    uint16_t nominal() const { return static_cast<uint16_t>(wire::nominal_size(bytes)); }
  };
  enum class Next : uint8_t {
    kPacket,
    kNone,          // no more packets of this kind
    kWindowClosed,  // the peer's window, or all has been sent
    kWimmLimit      // queued here, never refused [API-POST-5]
  };

  // --- windows ---
  void set_window(uint32_t psns) { window_ = psns; }
  uint32_t window() const { return window_; }
  // Everything below `next` has been acknowledged cumulatively. True: the window has moved.
  bool on_cumulative(uint64_t next) {
    if (next <= cumulative_) return false;
    cumulative_ = next;
    return true;
  }
  uint64_t cumulative() const { return cumulative_; }
  // One past the highest sequence number that may be sent. One short of the window's end, which is correct under both
  // readings of the rule [MRC-CHOICE-Q6].
  uint64_t limit() const { return std::min(queue_.end_seq(), cumulative_ + window_ - 1); }
  bool may_send() const { return sent_.lost() > 0 || sent_.nxt() < limit(); }

  // --- the packets of one burst ---
  void begin_burst() { retransmit_ = sent_.lost() > 0; }
  bool retransmits() const { return retransmit_; }
  // The packet that is due; the same until SentPackets and on_sent() record that it has been sent.
  Next next(uint32_t path_mtu, uint16_t max_wimm, bool timestamps, Packet* out);
  // The packet returned by next() has been sent.
  void on_sent(const Packet& p) {
    if (p.begins_wimm) ++wimm_in_flight_;
  }

  // Neither the request that begins at `first_seq` nor a later one is due any more, until it is completed.
  void withhold(uint64_t first_seq) { withheld_ = first_seq; }
  uint64_t withheld() const { return withheld_; }  // UINT64_MAX: none

  // The request at the front has been completed.
  void on_completed(const Wqe& w) {
    if (w.first_seq == withheld_) withheld_ = UINT64_MAX;
    if (w.with_imm && w.first_seq < sent_.nxt()) --wimm_in_flight_;
  }
  // The request that holds `seq`.
  const Wqe& request_of(uint64_t seq) const {
    uint64_t hint = hint_;
    return queue_.find(seq, &hint);
  }
  // Everything up to `next` is done.
  void restart(uint64_t next) {
    cumulative_ = next;
    wimm_in_flight_ = 0;
    withheld_ = UINT64_MAX;
  }
  void reset() {
    restart(0);
    hint_ = lost_hint_ = 0;
  }
  void check() const;

 private:
  const SendQueue& queue_;
  SentPackets& sent_;
  uint64_t cumulative_ = 0;            // cack_psn + 1 as last reported: base of the MPR window
  uint64_t hint_ = 0, lost_hint_ = 0;  // SendQueue::find, for new and for lost packets
  uint32_t window_ = 0;                // MPR in packets
  uint32_t wimm_in_flight_ = 0;
  uint64_t withheld_ = UINT64_MAX;
  bool retransmit_ = false;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
