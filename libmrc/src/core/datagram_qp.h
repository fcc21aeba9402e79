// DatagramQp: one datagram queue pair. It has no peer, no window and no timer: a datagram is one packet, sent once, and
// its request completes when the packet has left; a received one takes a receive request or is dropped and counted.
// [MRC-UD-1..10, spec/states.md]
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "core/burst.h"
#include "core/burst_builder.h"
#include "core/datagram.h"
#include "core/datagram_receive_queue.h"
#include "core/datagram_send_queue.h"
#include "core/engine_context.h"
#include "core/peer_table.h"
#include "core/send_completions.h"
#include "wire/packet.h"

namespace mrc::core {

class DatagramQp {
 public:
  DatagramQp(EngineContext* engine, PeerTable* peers, const DatagramQpInit& init);
  ~DatagramQp();  // drops outstanding work without completions
  DatagramQp(const DatagramQp&) = delete;
  DatagramQp& operator=(const DatagramQp&) = delete;

  Qpn qpn() const { return init_.qpn; }
  QpState state() const { return state_; }
  const DatagramAttr& attr() const { return attr_; }

  // The transition was checked. kError flushes the send queue, and receive requests unless the queue is shared; kReset
  // drops them.
  void enter(Instant now, QpState to, const DatagramAttr& attr);
  // Both throw std::bad_alloc, and change nothing then.
  PostResult post_send(const DatagramWr& wr);
  PostResult post_recv(uint64_t wr_id, const Sge* sges, uint32_t num_sge);
  void flush_sends();

  bool has_unsent() const { return state_ == QpState::kRts && sends_.has_unsent(); }
  // The peer of the next datagram; there is one.
  Peer* next_peer() const { return peers_.find(sends_.next_destination().peer); }
  // Fills `out` with datagrams for one peer on that path, until a longer one, one for another peer or the limits of a
  // burst. False: the first one's memory is not valid, and the QP went to error.
  bool build(Instant now, Peer* peer, EvIndex ev, TxBurst* out);
  // The datagrams of the last build() have left: their requests complete.
  void complete_sent();

  // A datagram for this QP. False: it is dropped, and counted.
  bool accepts(const wire::Packet& p) const;
  // After it was accepted. `source`: GID of its sender; `destination`: of this endpoint, or of a multicast group.
  void receive(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes, const IpAddress& source,
               const IpAddress& destination);
  void check() const;

 private:
  bool add_to(TxBurst* out, BurstBuilder* builder, bool* failed);
  uint32_t write_headers(const Wqe& w, std::span<uint8_t> out) const;
  void complete_front(WcStatus status);
  void drop_sends();
  void flush_receives();
  bool deliver(const Completion& done);
  void fail(Instant now, WcStatus status);

  EngineContext& engine_;
  PeerTable& peers_;
  const DatagramQpInit init_;
  DatagramAttr attr_;
  QpState state_ = QpState::kReset;
  DatagramSendQueue sends_;
  SendCompletions completions_;
  uint64_t first_number_ = 0;  // of the datagram that has PSN attr_.sq_psn
};

}  // namespace mrc::core
