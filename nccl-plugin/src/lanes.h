// Lanes: the queue pairs ("lanes") of one connection on the devices of a virtual one, with their completion queues, one
// per device, and the hints to the devices that the queue pairs are made with.
//
// Threads: one at a time. Nothing here allocates or locks after connect(), but for samples.
#pragma once

#include <cstdint>
#include <vector>

#include "device.h"
#include "handshake.h"
#include "provider.h"
#include "qp_sample.h"
#include "result.h"

namespace mrc::nccl {

enum class Work : uint8_t { kSend = 1, kRecord = 2, kSlots = 3, kReceive = 4, kKeepalive = 5 };

// What a work request is, as its wr_id has it: bits 63..56 kind, 55..48 lane, 31..0 detail.
struct WorkId {
  Work kind;
  int lane;
  uint32_t detail;  // kSend, kRecord: index of the request; kSlots: writes of slots up to this one; otherwise 0

  uint64_t pack() const { return static_cast<uint64_t>(kind) << 56 | static_cast<uint64_t>(lane) << 48 | detail; }
  static WorkId unpack(uint64_t wr_id) {
    return {static_cast<Work>(wr_id >> 56), static_cast<int>(wr_id >> 48 & 0xFF), static_cast<uint32_t>(wr_id)};
  }
};
static_assert(kMaxLanes <= 256, "a lane has 8 bits");

struct Lane {
  mrc_qp* qp = nullptr;
  uint8_t member = 0;         // device of this side
  uint8_t remote_member = 0;  // and of the peer
  uint32_t qpn = 0;
  uint32_t psn = 0;
  uint32_t mtu = 0;        // payload of a full packet, in bytes
  uint32_t in_flight = 0;  // work requests that occupy a slot of the send queue
};

class Lanes {
 public:
  struct Depth {
    uint32_t sends, receives;
  };
  // Traffic that NCCL expects of this side, for the hints; all 0: there are none.
  struct Expected {
    int send_peers = 0, recv_peers = 0;
    int flows = 0;  // connections per peer
  };

  // Of virtual device `number`. `api` and `devices` outlive this.
  Lanes(const provider::Provider& api, const Devices& devices, int number, Depth depth)
      : api_(api), devices_(devices), number_(number), depth_(depth) {}
  ~Lanes() { destroy(); }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Queue pairs in state INIT with their receives posted.
  Status create(int count, const Expected& expected);
  // To RTS with the peer's half, which has as many lanes.
  Status connect(const SetupMessage& peer, int traffic_class, const Settings& settings);
  // Destroys queue pairs and queues, if there are any.
  void destroy();
  // Queue pairs and devices of this side.
  void describe(SetupMessage* message) const;

  size_t size() const { return lanes_.size(); }
  Lane& operator[](size_t i) { return lanes_[i]; }
  const Lane& operator[](size_t i) const { return lanes_[i]; }
  auto begin() const { return lanes_.begin(); }
  auto end() const { return lanes_.end(); }

  bool room(const Lane& lane, uint32_t wanted) const { return lane.in_flight + wanted <= depth_.sends; }
  // Both: 0, or an errno value. The list becomes part of the send queue; `count` of in_flight is the caller's.
  [[nodiscard]] int post(const Lane& lane, ibv_send_wr* list);
  [[nodiscard]] int post_receives(size_t lane, uint32_t count);
  size_t queues() const { return cqs_.size(); }  // one per device
  int poll(size_t queue, int max, ibv_wc* out) { return api_.mrc_poll_cq(cqs_[queue], max, out); }

  bool have_statistics() const { return api_.query_qp_stats != nullptr; }
  // Of the queue pair with most work under way; empty where the device keeps no statistics.
  QpSample sample() const;
  QpSample sample_of(const Lane& lane) const;
  void check() const;

 private:
  void create_hints(const Expected& expected, int lanes_per_member);
  Status create_lane(size_t index);
  Status connect_lane(Lane& lane, const SetupMessage& peer, const LaneInfo& remote, int traffic_class,
                      const Settings& settings);

  const provider::Provider& api_;
  const Devices& devices_;
  const int number_;
  const Depth depth_;
  std::vector<Lane> lanes_;
  std::vector<mrc_cq*> cqs_;  // by member
  std::vector<mrc_qp_hint*> hints_;
};

}  // namespace mrc::nccl
