// PathProber: requests to a peer outside of QPs: EV probes (for path health, for the path MTU, and for callers
// of the controller API), port status updates, and the answers to those of others [MRC-EVP-1..7, MRC-PORT-1..2,
// MRC-MTU-1..5]. path_prober.cc has the operations, path_prober_mtu.cc the search for the path MTU.
//
// Requests name our process slot in vendor_info, because the answer goes to a UDP port and several processes may share
// the address [MRC-EVP-5].
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "core/control_queue.h"
#include "core/engine_context.h"
#include "core/path_mtu.h"
#include "core/peer_table.h"
#include "core/timer_heap.h"
#include "wire/packet.h"

namespace mrc::core {

class QpTable;

// The parameters of an endpoint request.
struct EndpointRequest {
  PeerId peer = kNoPeer;
  EvIndex ev;
  uint16_t id = 0;
  uint8_t dscp = 0;
  bool internal = false;  // the engine's own; otherwise the answer is reported to the Sink
  bool port_status = false;
  PlaneSet planes_up;       // of a port status update
  uint32_t size_probe = 0;  // padded as the largest packet of this path MTU; 0: it is not
  bool of_search = false;   // it belongs to that search, padded or not
};

class PathProber final : public PeerObserver {
 public:
  PathProber(EngineContext* engine, PeerTable* peers, QpTable* qps, ControlQueue* control);

  // False when the id is outstanding, the peer or EV unknown, or too many control packets wait.
  bool start(Instant now, const EndpointRequest& op, Duration timeout);
  // Sends the requests due towards the peer: EV probes of its paths and of the search for its path MTU.
  void probe_paths(Instant now, Peer* p);
  // This host's port went up or down: every peer is notified [MRC-PORT-1].
  void set_plane_up(Instant now, PlaneId plane, bool up);

  void on_request(Instant now, const wire::Flow& flow, PlaneId plane, const wire::Packet& p, uint32_t bytes);
  void on_response(Instant now, const wire::Flow& flow, const wire::Packet& p);
  void on_timer(Instant now);
  const TimerNode* timer() const { return &timer_; }

  // Packets of path MTU `mtu` appear not to pass that plane: a search starts, or its result is applied [MRC-MTU-1].
  void suspect_path_mtu(Instant now, Peer* p, PlaneId plane, uint32_t mtu);
  // Of a probe that measures what a lossy plane delivers, as a path MTU; 0: it is not padded.
  uint32_t size_of_measurement(Instant now, Peer* p, PlaneId plane);
  uint32_t peer_path_mtu(const Peer& p) const;  // the MTU of its planes in use; 0: no limit is known
  // As Endpoint::on_packet_too_long.
  void on_packet_too_long(Instant now, PlaneId plane, const IpAddress& to);
  // As Endpoint::found_path_mtu.
  uint32_t found_path_mtu(Instant now) const { return now < found_mtu_until_ ? found_mtu_ : UINT32_MAX; }

  // Operations that wait for an answer.
  size_t outstanding() const { return ops_.size(); }
  void check() const;

 private:
  struct Outstanding {
    EndpointRequest op;
    PlaneId plane;
    uint8_t resends = 0;
    bool overdue = false;    // an EV probe of ours that was reported as lost; its answer still counts
    uint16_t timestamp = 0;  // in the packet
    Instant sent_at;
    Instant deadline;
  };

  void on_peer_left(Peer* peer) override;
  void on_peer_gone(Peer* peer) override;
  template <typename Which>
  void drop(const Which& which) {
    ops_.erase(std::remove_if(ops_.begin(), ops_.end(), which), ops_.end());
  }
  bool send(Instant now, Outstanding* o);  // false: no room in the queue
  uint16_t new_id();
  bool on_port_status(Instant now, const wire::Flow& flow, PlaneSet up);  // false: refused, not to be answered
  std::optional<EvIndex> draw_ev_of_plane(PlaneId plane);
  std::optional<EvIndex> answer_ev(PlaneId plane, uint32_t asked);  // `asked`: the EV of the request
  void resend_status(Instant now, Outstanding* o);
  void search_path_mtu(Instant now, Peer* p);
  void on_size_answer(Instant now, const Outstanding& o);
  void apply_path_mtu(Instant now, Peer* p, PlaneId plane, PathMtu::Verdict verdict);
  void note_found_mtu(Instant now, uint32_t found);

  EngineContext& engine_;
  PeerTable& peers_;
  QpTable& qps_;
  ControlQueue& control_;
  std::vector<Outstanding> ops_;
  TimerNode timer_;
  // The smallest MTU that the planes of some peer carry, as found recently; new QPs are offered no
  // more.
  uint32_t found_mtu_ = UINT32_MAX;
  Instant found_mtu_until_;
};

}  // namespace mrc::core
