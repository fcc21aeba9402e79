// Implementation of Device: its parts, and the loop that drives them. All members except atomics are guarded by
// `mutex`.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/endpoint.h"
#include "datapath/datapath.h"
#include "device/clock.h"
#include "device/config.h"
#include "device/device.h"
#include "device/helper.h"
#include "device/link_watch.h"
#include "device/profiles.h"
#include "device/publisher.h"
#include "device/qpn.h"
#include "device/shard_inbox.h"
#include "device/shared_state.h"
#include "device/trace_file.h"

namespace mrc::device {

class DeviceImpl final : public core::Sink, public HelperWork {
 public:
  DeviceImpl(const DeviceConfig& config, std::unique_ptr<datapath::Datapath> datapath, PerEv<core::EvEntry> evs,
             uint8_t slot, uint32_t mtu, std::vector<std::string> advice);
  ~DeviceImpl();

  // Makes the engine; once, before anything else is called.
  void make_endpoint(std::unique_ptr<TraceFile> events, const ShardNumber& shard) ABSL_LOCKS_EXCLUDED(device_lock);
  Status start_helper();
  void stop();

  // Progress. `receive` false: only sends.
  int move(bool receiving, Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  Instant moved_until() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    return moved_until_;
  }  // the last time read by move()
  void note_deadline(Instant now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);  // makes sure that the sleeping helper wakes in time

  // Sink: the engine calls these with the lock held.
  bool on_completion(void* cookie, const core::Completion& c) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_qp_event(void* cookie, core::AsyncEvent e) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_memory_fault(Qpn qpn, const core::MemoryFault& fault) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_port_event(PlaneId plane, core::AsyncEvent e) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_ev_state(EvIndex ev_index, core::EvState to, uint64_t losses) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_path_failed(const core::PathReport& path) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_peer_addresses(core::PeerId peer) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_path_mtu(core::PeerId peer, PlaneId plane, uint32_t carries, uint32_t wanted) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // HelperWork.
  int serve() override ABSL_LOCKS_EXCLUDED(device_lock);
  void going_to_sleep() override ABSL_LOCKS_EXCLUDED(device_lock);
  void woke_up() override ABSL_LOCKS_EXCLUDED(device_lock);
  void answer() override ABSL_LOCKS_EXCLUDED(device_lock);
  void links_changed() override ABSL_LOCKS_EXCLUDED(device_lock);
  // Device::wait() of a thread that stands in for the helper. `work`: the device has some.
  int wait(const Helper::StandIn& stand_in, pollfd* fds, size_t n, const timespec* max, bool* work)
      ABSL_LOCKS_EXCLUDED(device_lock);

  // A plane is up when it is administratively enabled and its interface has a link.
  void set_plane_admin(Instant now, PlaneId plane, bool enabled) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  // Another process has observed a change of a path.
  void take_ev_change(uint64_t profile, const mrc_ctl_ev& ev, mrc_ctl_ev_state state, uint64_t losses)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // The counters of this process, for tools.
  ctl::DeviceReport report() ABSL_LOCKS_EXCLUDED(device_lock);
  // One reference less; the figures of a peer without any are in the next report.
  void release_peer(core::PeerId peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  // Through the daemon if there is one, else `local` with the mutex held.
  template <typename Attr, typename Local>
  int modify(uint64_t id, const Attr& attr, int mask, const Local& local) ABSL_LOCKS_EXCLUDED(device_lock);

  const DeviceConfig config;
  const PerEv<core::EvEntry> evs;
  const uint8_t slot;
  const uint32_t mtu;                     // largest path MTU
  const std::vector<std::string> advice;  // limits of this host to raise
  DeviceMutex mutex;
  const std::unique_ptr<datapath::Datapath> datapath ABSL_PT_GUARDED_BY(device_lock);
  core::EndpointConfig endpoint_config;                           // set by make_endpoint(), before any other thread
  std::unique_ptr<TraceFile> trace ABSL_GUARDED_BY(device_lock);  // absent: the engine writes no events
  std::unique_ptr<core::Endpoint> endpoint ABSL_GUARDED_BY(device_lock);
  QpnAllocator qpns ABSL_GUARDED_BY(device_lock);
  DeviceProfiles profiles ABSL_GUARDED_BY(device_lock);
  std::vector<DeviceObserver*> observers ABSL_GUARDED_BY(device_lock);
  Publisher publisher;
  SharedState shared;
  // As configured, with the addresses of interfaces that had none at the start.
  PerPlane<PlaneConfig> planes ABSL_GUARDED_BY(device_lock);
  PlaneSet planes_enabled ABSL_GUARDED_BY(device_lock) = PlaneSet::all();  // by administration
  LinkWatch links;
  // Reports between the engines of the device: to this one (null: it is the only one), to each other one, and to the
  // first one where this is another.
  std::shared_ptr<ShardInbox> inbox;  // set by make_endpoint(), before any other thread
  std::vector<std::shared_ptr<ShardInbox>> others ABSL_GUARDED_BY(device_lock);
  std::shared_ptr<ShardInbox> first_shard ABSL_GUARDED_BY(device_lock);
  Helper helper;
  std::atomic<bool> stopped{false};   // progress has no effect any more
  std::atomic<bool> stopping{false};  // stop() has begun
  bool forked = false;                // this is a child's copy: it must not be used

 private:
  void tell(const ctl::EvChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // Between engines (shard_reports.cc).
  void send_report(ShardInbox* to, const ShardInbox::Report& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void take_ev_report(const ctl::EvChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void take_shard_reports() ABSL_LOCKS_EXCLUDED(device_lock);
  static constexpr int kRxBatch = 8;   // bursts received at once
  static constexpr int kTxBatch = 4;   // bursts sent before the sockets are polled again
  static constexpr int kSingles = 32;  // of either, where a burst is one packet
  static constexpr Duration kTimerPatience =
      Duration::milliseconds(2);  // maximum time that timers wait for the sockets to be empty
  static constexpr Duration kComesBack =
      Duration::microseconds(100);      // a polling application polls again within this time
  static constexpr int kRounds = 8;     // of receiving and sending in one call
  static constexpr int kTxAtPost = 16;  // bursts sent by the thread that posts
  static constexpr int64_t kAwake = INT64_MIN;
  static constexpr Duration kMemoryWait = Duration::milliseconds(1);  // after memory ran out

  // A burst that a plane had no room for. Its payload is copied, because the engine may release the user's memory
  // before the plane has room; a full plane is rare and expensive anyway.
  struct Held {
    core::TxBurst burst;
    std::vector<uint8_t> bytes;
  };

  // Runs `body`, a call of the engine or of the datapath; false when memory ran out in it. The engine is consistent
  // then: the packet in hand counts as lost, and timers and transmissions are repeated after kMemoryWait [API-ERR-3].
  template <typename Body>
  bool attempt(const Body& body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  int batch(int bursts) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    return datapath->max_segments() == 1 ? kSingles : bursts;
  }
  int receive(Instant* now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  int transmit(int max, Instant* now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void run_timers(Instant now, bool drained) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void note_time(Instant now, Instant slept_until) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void offer_held(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void hold(const core::TxBurst& burst) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  Instant deadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  Instant fall_asleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);  // until this time
  using WaitFds = std::array<int, 8>;
  int wait_fds(WaitFds* fds) ABSL_LOCKS_EXCLUDED(device_lock);  // how many there are
  void linger() ABSL_LOCKS_EXCLUDED(device_lock);
  void watch_links() ABSL_LOCKS_EXCLUDED(device_lock);
  std::string watched_interface(PlaneId p) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  std::optional<IpAddress> address_to_open(PlaneId p) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void open_closed_planes(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void apply_planes(Instant now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  Instant last_rx_ ABSL_GUARDED_BY(device_lock) = kLongAgo;
  Instant moved_until_ ABSL_GUARDED_BY(device_lock) = kLongAgo;
  Instant slept_until_ ABSL_GUARDED_BY(device_lock) = kLongAgo;  // the helper, before it woke up
  // The time at which the sleeping thread wakes, and how many sleep: the helper, its stand-in, for a moment both.
  int64_t wake_at_ ABSL_GUARDED_BY(device_lock) = kAwake;
  int sleepers_ ABSL_GUARDED_BY(device_lock) = 0;
  Instant not_before_ ABSL_GUARDED_BY(device_lock) = kLongAgo;  // timers and transmissions
  bool more_to_send_ ABSL_GUARDED_BY(device_lock) = false;
  PlaneSet held_planes_ ABSL_GUARDED_BY(device_lock);
  PlaneSet planes_linked_ ABSL_GUARDED_BY(device_lock) = PlaneSet::all();  // whose interface has a link
  std::array<std::unique_ptr<Held>, kMaxPlanes> held_ ABSL_GUARDED_BY(device_lock);
  std::array<core::RxBurst, kSingles> rx_ ABSL_GUARDED_BY(device_lock);
  core::TxBurst tx_ ABSL_GUARDED_BY(device_lock);
  std::unique_ptr<uint8_t[]> staging_;  // of tx_
};

template <typename Body>
bool DeviceImpl::attempt(const Body& body) {
  try {
    body();
    return true;
  } catch (const std::bad_alloc&) {
    endpoint->count_out_of_memory();
    not_before_ = clock_now() + kMemoryWait;
    return false;
  }
}

// EndpointConfig from settings; also used by tools and tests that show it.
core::EndpointConfig endpoint_config(const DeviceConfig& config, const datapath::Datapath& datapath,
                                     const PerEv<core::EvEntry>& evs, uint8_t slot, uint64_t seed);

}  // namespace mrc::device
