// Endpoint: the engine of one process on one device. Owns QPs, the key table, path health per peer, timers and the
// order in which packets leave. Sans-IO and deterministic: a driver calls
//
//     handle_rx(now, burst)       for everything received,
//     poll_tx(now, &burst)        until it returns false, sending each burst,
//     handle_timeout(now)         when next_timeout() is reached,
//
// and the commands below in between. Not thread-safe: the owner serialises. No code here reads a clock, draws
// ambient randomness, blocks, or allocates per packet.
#pragma once

#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "core/burst.h"
#include "core/config.h"
#include "core/counters.h"
#include "core/datagram.h"
#include "core/delay_histogram.h"
#include "core/memory.h"
#include "core/multicast_groups.h"
#include "core/status.h"
#include "core/trace.h"
#include "core/types.h"

namespace mrc::core {

class DatagramQp;
class Qp;

class Endpoint {
 public:
  Endpoint(const EndpointConfig& config, Sink* sink, TraceSink* trace = nullptr);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // --- driving -----------------------------------------------------------------------------------------------------
  void handle_rx(Instant now, const RxBurst& burst);
  // Bytes of payload placed so far by pieces for which RxBurst::stream matters.
  uint64_t long_payload() const;
  // Fills `out` and returns true, or returns false when nothing may be sent now. `planes_with_room`: those on which
  // the driver can take a burst.
  bool poll_tx(Instant now, TxBurst* out, PlaneSet planes_with_room = PlaneSet::all());
  Instant next_timeout() const;  // Instant::never() when nothing is pending
  void handle_timeout(Instant now);
  // This host did not run for a while until now, so answers may be queued: what was sent before is not judged by its
  // age [MRC-LOSS-1].
  void on_resumed(Instant now);
  Instant ran_since() const;  // the end of the last such pause that counts

  // --- memory ------------------------------------------------------------------------------------------------------
  MemoryTable& memory();

  // --- peers -------------------------------------------------------------------------------------------------------
  // Same description, same id; released with release_peer once per intern.
  PeerId intern_peer(const PeerDescription& peer);
  void release_peer(PeerId id);
  std::vector<PeerId> peers() const;  // without multicast groups
  bool has_peer(PeerId id) const;
  // Including the values reported by the peer itself; valid while it is interned.
  const PeerDescription& peer_description(PeerId id) const;

  // --- queue pairs -------------------------------------------------------------------------------------------------
  // Null when the QPN is taken or the limit is reached. The pointer is valid until destroy_qp.
  Qp* create_qp(const QpInit& init);
  void destroy_qp(Qp* qp);  // drops outstanding work without completions
  // Applies attributes with the transition. False when the transition is not one of the state machine [MRC-QP-1].
  // Entering kError flushes; kReset clears everything.
  bool modify_qp(Instant now, Qp* qp, QpState to, const QpAttr& attr);
  QpState qp_state(const Qp* qp) const;
  void set_mailbox(Qp* qp, const Mailbox& mailbox);  // before RTR
  QpStatus qp_status(const Qp* qp) const;
  std::vector<QpStatus> all_qp_status() const;
  // Both throw std::bad_alloc, and change nothing then.
  PostResult post_send(Instant now, Qp* qp, const SendWr& wr);
  PostResult post_recv(Instant now, Qp* qp, uint64_t wr_id);
  // True while a SACK or transport ACK of the QP is pending, or sends are not completed.
  bool qp_busy(const Qp* qp) const;
  // Sends every coalesced SACK and ACK of the QP, or of all, at the next poll_tx (destroy and process exit).
  void flush_acks(Qp* qp);
  void flush_all_acks();
  // Retransmits the last ACK or NAK of every QP that has received a request since then, including destroyed ones.
  // Called at shutdown, because a lost ACK could not be solicited again [MRC-RSP-13].
  void repeat_acks(Instant now, Instant since);

  // --- datagram queue pairs ----------------------------------------------------------------------------------------
  // Null when the QPN is taken or the limit is reached. The pointer is valid until destroy_qp.
  DatagramQp* create_datagram_qp(const DatagramQpInit& init);
  void destroy_datagram_qp(DatagramQp* qp);  // drops outstanding work without completions
  // As for other QPs, without a peer [MRC-UD-2].
  bool modify_datagram_qp(Instant now, DatagramQp* qp, QpState to, const DatagramAttr& attr);
  QpState datagram_qp_state(const DatagramQp* qp) const;
  // Both throw std::bad_alloc, and change nothing then. Receive requests of a shared queue are posted to the queue.
  PostResult post_datagram(DatagramQp* qp, const DatagramWr& wr);
  PostResult post_datagram_recv(DatagramQp* qp, uint64_t wr_id, const Sge* sges, uint32_t num_sge);
  // Multicast groups [MRC-UD-9..11]. The caller makes the driver receive the datagrams of the groups that have members.
  // Throws std::bad_alloc, and changes nothing then.
  Attached attach_datagram_qp(DatagramQp* qp, const IpAddress& group);
  bool detach_datagram_qp(DatagramQp* qp, const IpAddress& group);  // false: it is not attached
  bool has_group(const IpAddress& group) const;
  std::vector<IpAddress> groups_of(const DatagramQp* qp) const;

  // Receiver penalty hook: carried in every SACK until changed, 0..127 [MRC-SACK-9].
  void set_receiver_penalty(uint8_t penalty, bool restore);

  // --- paths -------------------------------------------------------------------------------------------------------
  // Local port state: a plane that is down is not used for sending; peers get a port status update [MRC-PORT-1].
  void set_plane_up(Instant now, PlaneId plane, bool up);
  bool plane_up(PlaneId plane) const;
  // The address of a plane that had none (EndpointConfig::planes: zero): peers that are queried for their planes are
  // queried again, and learn it by that [MRC-EXT-12].
  void set_plane_address(Instant now, PlaneId plane, const IpAddress& addr);
  // The driver refused a packet to that address because it exceeds the MTU of the interface or of the route.
  void on_packet_too_long(Instant now, PlaneId plane, const IpAddress& to);
  // The shared memory of this RxBurst::pipe has ended, and all bursts in it have been delivered.
  // From now on packets of its peer are accepted from the network again [MRC-LOCAL-8].
  void on_pipe_ended(uint32_t pipe);
  // Path MTU in bytes that new QPs should not exceed, as found by searches of the last ten minutes; UINT32_MAX: no
  // limit [MRC-MTU-5].
  uint32_t found_path_mtu(Instant now) const;
  // Administrative deny or allow of one EV towards one peer [MRC-EVS-7].
  void set_ev_denied(Instant now, PeerId peer, EvIndex ev_index, bool denied);
  // Another engine of this device found the path bad (Sink::on_path_failed): so are the EVs of that name on that plane,
  // towards every peer at the address that is probed from here [MRC-EVS-16].
  void on_path_failed(Instant now, const PathReport& path);
  PerEv<EvStatus> ev_status(PeerId peer) const;
  // The same for one QP: an EV that it skips at its next turn is SKIP [MRC-EVS-3].
  PerEv<EvStatus> ev_status(const Qp* qp) const;
  // EV probe or port status update with `planes_up`; traffic class 0 means NO_TRIM. False when `id` is
  // outstanding or too many control packets wait. The answer arrives at Sink.
  bool start_endpoint_op(Instant now, PeerId peer, EvIndex ev_index, uint16_t id, bool port_status, PlaneSet planes_up,
                         Duration timeout, uint8_t traffic_class = 0);
  // True: the peer has yet to say its address on the plane of that EV, for which it is queried; an operation that is
  // started now would go nowhere [MRC-EXT-2].
  bool awaits_address(Instant now, PeerId peer, EvIndex ev_index);
  // Number of queued control packets: the round trip of an operation that is started counts from its start, so
  // a caller that measures starts few at a time.
  size_t control_waiting() const;

  // --- measurement -------------------------------------------------------------------------------------------------
  const Counters& counters() const;
  PeerLatency peer_latency(PeerId peer) const;
  // Of a QP; null: no packet that was sent again has arrived. Valid until the next call.
  const DelayHistogram* retransmission_delays(const Qp* qp) const;
  void count_out_of_memory();  // a call threw std::bad_alloc, and its caller goes on
  const PlaneCounters& plane_counters(PlaneId plane) const;

 private:
  struct Parts;  // core/endpoint_parts.h
  std::unique_ptr<Parts> parts_;
};

}  // namespace mrc::core
