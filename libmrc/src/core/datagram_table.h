// DatagramTable: the datagram QPs of one endpoint by number, and their turns to send. Datagrams are spread
// evenly over the healthy planes towards their destination; as nothing acknowledges them, the planes are probed while
// datagrams are sent, and one that does not answer is left [MRC-UD-3]. Datagrams of unknown senders create no state
// [MRC-UD-8].
#pragma once

#include <absl/hash/hash.h>

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/ids.h"
#include "base/planes.h"
#include "core/burst.h"
#include "core/datagram_qp.h"
#include "core/engine_context.h"
#include "core/multicast_groups.h"
#include "core/peer_table.h"
#include "wire/packet.h"

namespace mrc::core {

class PlaneDiscovery;

class DatagramTable {
 public:
  DatagramTable(EngineContext* engine, PeerTable* peers, PlaneDiscovery* discovery);
  DatagramTable(const DatagramTable&) = delete;
  DatagramTable& operator=(const DatagramTable&) = delete;

  // Null when the number is taken or the limit is reached.
  DatagramQp* create(const DatagramQpInit& init);
  void destroy(DatagramQp* qp);
  // False when the transition is not one of the state machine.
  bool modify(Instant now, DatagramQp* qp, QpState to, const DatagramAttr& attr);
  PostResult post_send(DatagramQp* qp, const DatagramWr& wr);
  PostResult post_recv(DatagramQp* qp, uint64_t wr_id, const Sge* sges, uint32_t num_sge);

  // One burst of datagrams. False: none may be sent now.
  bool poll(Instant now, TxBurst* out, PlaneSet planes_with_room);
  // The datagrams of the last burst have left; called before the next one is built.
  void complete_sent();
  void on_packet(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes);

  MulticastGroups& groups() { return groups_; }
  const MulticastGroups& groups() const { return groups_; }
  bool any_ready() const { return first_ready_ != nullptr; }
  bool has(Qpn qpn) const { return qps_.count(qpn) != 0; }
  void check() const;

 private:
  struct Entry {
    std::unique_ptr<DatagramQp> qp;
    DatagramQp* next = nullptr;  // in the list of those that may send
    bool ready = false;
  };

  Entry& entry_of(const DatagramQp* qp) { return qps_.find(qp->qpn())->second; }
  void make_ready(DatagramQp* qp);
  DatagramQp* take_ready();
  void remove_ready(DatagramQp* qp);
  void use_peer(Instant now, Peer* peer);
  void on_multicast(Instant now, const RxBurst& burst, const wire::Packet& p, uint32_t bytes);
  IpAddress source_gid(const RxBurst& burst) const;

  EngineContext& engine_;
  PeerTable& peers_;
  PlaneDiscovery& discovery_;
  // Looked up only: their order has no effect.
  std::unordered_map<Qpn, Entry> qps_;
  MulticastGroups groups_;
  std::unordered_map<IpAddress, IpAddress, absl::Hash<IpAddress>> configured_gids_;  // by address on any plane
  DatagramQp* first_ready_ = nullptr;
  DatagramQp* last_ready_ = nullptr;
  DatagramQp* sent_ = nullptr;  // its datagrams are in the last burst
};

}  // namespace mrc::core
