// Connection: the common part of a send and a receive communicator: queue pairs ("lanes") on one or several devices,
// their completion queues, the set-up socket, and the monitoring of the peer.
//
// Detection of the peer's end, from the surest sign to the last resort:
//   its process ended or closed: the set-up socket reports it at once; requests then have peer_timeout_ms to complete
//   its host or all paths failed: a write exceeds its retries. An idle side writes zero bytes to the peer after
//                                keepalive_s without a completion, so that there is such a write
// A slow connection is reported in NCCL's log (slow_watch.h).
// A time-out of the set-up socket itself is ignored: its network may be down while other planes work.
//
// After the first error the connection stays broken: each call returns the same result.
//
// Threads: all functions of one connection are called by one thread at a time, as NCCL's proxy does, but for process()
// and number(), which memory is registered by. Nothing here
// allocates or locks after connect().
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "context.h"
#include "handshake.h"
#include "memory.h"
#include "profile.h"
#include "slow_watch.h"
#include "socket.h"

namespace mrc::nccl {

// Upper byte of wr_id: kind of the completion; the next byte: lane; the lower 32 bits belong to the kind.
enum class Work : uint8_t { kSend = 1, kRecord = 2, kSlots = 3, kReceive = 4, kBeat = 5 };

inline uint64_t work_id(Work kind, int lane, uint32_t detail) {
  return static_cast<uint64_t>(kind) << 56 | static_cast<uint64_t>(lane) << 48 | detail;
}

struct Lane {
  mrc_qp* qp = nullptr;
  uint8_t member = 0;         // device of this side
  uint8_t remote_member = 0;  // and of the peer
  uint32_t qpn = 0;
  uint32_t psn = 0;
  uint32_t in_flight = 0;  // work requests that occupy a slot of the send queue
};

class Connection {
 public:
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Queue pairs in state INIT. Errors are in the log.
  ncclResult_t create(int lanes);
  // This side's half of `hello`, without cookie.
  void describe(Hello* hello) const;
  // To RTS with the peer's half. From then on the socket monitors the peer.
  ncclResult_t connect(const Hello& peer);
  void watch(Socket socket) { socket_ = std::move(socket); }

  int number() const { return number_; }  // of the virtual device
  Process& process() const { return *context_->process; }
  const std::string& peer() const { return peer_; }
  ncclResult_t error() const { return error_; }

 protected:
  struct Depth {
    uint32_t sends, receives;
  };

  Connection(std::shared_ptr<Context> context, int number, int traffic_class, std::string peer, Role role, Depth depth);

  // Destroys queue pairs and queues. For the destructors of the two ends, first: until then their memory is in use.
  void disconnect();

  // Memory that the peer writes into.
  virtual void* control_memory() = 0;
  virtual size_t control_size() const = 0;
  virtual void completed(const ibv_wc& wc) = 0;
  virtual void started(const Hello& peer) = 0;
  using Clock = std::chrono::steady_clock;
  // When the oldest of what is under way to the peer was posted; none: nothing is.
  virtual std::optional<Clock::time_point> oldest_posting() const = 0;
  // Is something under way for which a profiler has an event? Then it learns of these.
  virtual bool profiled() const { return false; }
  virtual void update_events(const PathDescription&) {}

  // Takes completions and drives the device's progress. Returns error().
  ncclResult_t progress();
  bool room(const Lane& lane, uint32_t wanted) const { return lane.in_flight + wanted <= depth_.sends; }
  // The list becomes part of the send queue; `count` of in_flight is the caller's.
  ncclResult_t post(Lane& lane, ibv_send_wr* list);
  ncclResult_t post_receives(int lane, uint32_t count);
  ncclResult_t fail(ncclResult_t result, const std::string& why);
  // Of the queue pair with most work under way; empty where the device keeps no statistics.
  QpSample sample() const;
  QpSample sample_of(const Lane& lane) const;

  const provider::Provider& api_;
  std::vector<Lane> lanes_;
  uint32_t control_keys_[kMaxMembers] = {};  // of the peer's control memory
  uint64_t control_addr_ = 0;

 private:
  ncclResult_t create_lane(Lane& lane, mrc_cq* cq);
  ncclResult_t connect_lane(Lane& lane, const Hello& peer, const LaneInfo& remote);
  void make_hint(int lanes_per_member);
  void broken(const ibv_wc& wc);
  void look_after_peer(Clock::time_point now);
  void look_at_speed(Clock::time_point now);
  void look_at_paths();
  void beat();

  const std::shared_ptr<Context> context_;
  const int number_;
  const int traffic_class_;
  const std::string peer_;
  const Role role_;
  const Depth depth_;
  std::vector<mrc_cq*> cqs_;  // by member
  std::vector<mrc_qp_hint*> hints_;
  std::unique_ptr<Memory> control_;
  Socket socket_;
  ncclResult_t error_ = ncclSuccess;

  bool quiet_ = true;     // no completion since the last check
  bool beating_ = false;  // a zero-byte write is in flight
  bool gone_ = false;     // the peer's process has ended
  Clock::time_point gone_at_, last_sign_, looked_at_, speed_looked_at_;
  SlowWatch slow_watch_;
  PathDescription profiled_paths_{};  // as the last update had them
};

}  // namespace mrc::nccl
