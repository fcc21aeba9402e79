// Connection: the common part of a send and a receive communicator: queue pairs ("lanes") on one or several devices,
// the memory that the peer writes control data into, the set-up socket, and the monitoring of the peer.
//
// The peer's end is detected as peer_monitor.h says. A time-out of the set-up socket itself is ignored: its network may
// be down while other planes work. A slow connection is reported in NCCL's log (slow_watch.h).
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

#include "context.h"
#include "handshake.h"
#include "lanes.h"
#include "memory.h"
#include "path_events.h"
#include "peer_monitor.h"
#include "profile.h"
#include "slow_watch.h"
#include "socket.h"

namespace mrc::nccl {

// The peer's memory for control data, as its SetupMessage gives it.
struct RemoteControl {
  uint64_t addr = 0;
  uint32_t keys[kMaxMembers] = {};  // by member device of the peer
};

class Connection {
 public:
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Queue pairs in state INIT. Errors are in the log.
  ncclResult_t create(int lanes);
  // This side's half of `message`, without cookie.
  void describe(SetupMessage* message) const;
  // To RTS with the peer's half. From then on the socket monitors the peer.
  ncclResult_t connect(const SetupMessage& peer);
  void watch(Socket socket) { socket_ = std::move(socket); }

  int number() const { return number_; }  // of the virtual device
  Process& process() const { return *context_->process; }
  const std::string& peer() const { return peer_; }
  ncclResult_t error() const { return error_; }
  virtual void check() const { lanes_.check(); }

 protected:
  Connection(std::shared_ptr<Context> context, int number, int traffic_class, std::string peer, Role role,
             Lanes::Depth depth);

  // Destroys queue pairs and queues. For the destructors of the two ends, first: until then their memory is in use.
  void disconnect() { lanes_.destroy(); }

  // Memory that the peer writes into.
  virtual void* control_memory() = 0;
  virtual size_t control_size() const = 0;
  virtual void completed(const ibv_wc& wc) = 0;
  virtual void started(const SetupMessage& peer) = 0;
  using Clock = std::chrono::steady_clock;
  // When the oldest of what is under way to the peer was posted; none: nothing is.
  virtual std::optional<Clock::time_point> oldest_posting() const = 0;
  // Work requests of its own that are under way.
  uint32_t own_in_flight() const { return monitor_.keepalive_in_flight() ? 1 : 0; }
  // Is something under way for which a profiler has an event? Then it learns of these.
  virtual bool profiled() const { return false; }
  virtual void update_events(const PathDescription&) {}

  // Takes completions and drives the device's progress. Returns error().
  ncclResult_t progress();
  // The list becomes part of the send queue; `count` of in_flight is the caller's.
  ncclResult_t post(const Lane& lane, ibv_send_wr* list);
  ncclResult_t post_receives(size_t lane, uint32_t count);
  ncclResult_t fail(ncclResult_t result, const std::string& why);

 private:
  Lanes::Expected expected() const;
  void broken(const ibv_wc& wc);
  void monitor_peer(Clock::time_point now);
  void check_socket();
  void send_keepalive();
  void check_paths(Clock::time_point now);

  const std::shared_ptr<Context> context_;
  const int number_;
  const int traffic_class_;
  const std::string peer_;
  const Role role_;

 protected:
  const provider::Provider& api_;
  Lanes lanes_;
  RemoteControl remote_control_;

 private:
  std::unique_ptr<Memory> control_;
  Socket socket_;
  ncclResult_t error_ = ncclSuccess;
  PeerMonitor monitor_;
  SlowWatch slow_watch_;
  PathEvents path_events_;
  Clock::time_point paths_checked_at_;
};

}  // namespace mrc::nccl
