// Device: the software NIC of this process, or one shard of it (shards.h). Owns the engine, the datapath under it, QP
// numbers and the helper thread; shared by all contexts that opened it
// [spec/architecture.md, decisions 5, 6, 8, 9, 11].
//
// Threads: one mutex serialises engine and datapath. Functions that are annotated so need it held; everything else
// may be called from any thread without it. Observers are called with it held and must not call back into the
// device. Lock order: registry, device, then the locks of the observers.
//
// Threads that post and poll make progress inline; the helper thread serves only while the application does not
// (helper.h).
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/endpoint.h"
#include "ctl/messages.h"
#include "device/clock.h"
#include "device/config.h"
#include "device/device_lock.h"
#include "device/engine.h"
#include "device/facts.h"
#include "device/helper.h"
#include "device/observers.h"
#include "device/plane_control.h"
#include "device/profiles.h"
#include "device/progress.h"
#include "device/publisher.h"
#include "device/qpn.h"
#include "device/shard_reports.h"
#include "device/shared_state.h"
#include "result.h"

namespace mrc::device {

// Which of the engines of this process on the device it is (shards.h).
struct ShardNumber {
  uint32_t number = 0;
  uint32_t of = 1;
  uint32_t first_slot = 0;  // where the search for a free one begins
};

// A line of the statistics.
struct Statistic {
  std::string name;
  uint64_t value = 0;
  bool is_count = true;  // else a state, 0 or 1
};
using Statistics = std::vector<Statistic>;
std::string text_of(const Statistics& lines);  // "name value" each

class Device final : private core::Sink, private HelperWork, private SharedStateWork {
 public:
  // Starts sockets and helper thread in the first free process slot.
  static Result<std::shared_ptr<Device>> start(const DeviceConfig& config, const ShardNumber& shard = {});
  // The same over a given datapath, clock and slot (tests, in-process use). `helper`: with a helper thread, whose time
  // is the host's.
  static std::shared_ptr<Device> start_over(const DeviceConfig& config, std::unique_ptr<datapath::Datapath> datapath,
                                            PerEv<core::EvEntry> evs, uint8_t slot, bool helper,
                                            const ShardNumber& shard = {}, const Clock& clock = host_clock);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // --- properties --------------------------------------------------------------------------------------------------
  const DeviceConfig& config() const { return facts_.config; }
  uint8_t slot() const { return facts_.slot; }
  uint32_t planes() const { return static_cast<uint32_t>(facts_.config.planes.size()); }
  // The path MTU for new QPs: max_mtu(), or less if searches found that a path carries less. Takes the mutex.
  uint32_t active_mtu() ABSL_LOCKS_EXCLUDED(device_lock);
  uint32_t max_mtu() const { return facts_.mtu; }  // largest path MTU that every plane carries: 256..4096, or 8192
  const PerEv<core::EvEntry>& evs() const { return facts_.evs; }
  // Attributes of a QP that sets none.
  core::QpAttr default_qp_attr() const;
  // This is a copy in a child of fork: nothing moves in it. Takes no lock.
  bool inherited() const { return inherited_; }

  // --- progress ----------------------------------------------------------------------------------------------------
  DeviceMutex& mutex() { return mutex_; }
  core::Endpoint& endpoint() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return *engine_.endpoint; }
  Instant now() const { return clock_.now(); }
  void pause(Duration time) const { clock_.pause(time); }  // the calling thread, in the time of now(); no lock held
  // Receives, runs due timers and sends; bounded work. Returns the number of bursts moved, 0 when there was nothing.
  int progress() ABSL_LOCKS_EXCLUDED(device_lock);
  int try_progress() ABSL_LOCKS_EXCLUDED(device_lock);  // returns 0 at once when another thread makes progress
  int progress_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);  // like progress()
  // After post_send: sends the packets that may be sent now, without polling for received ones. Not counted as polling:
  // otherwise a program that posts and never polls would prevent the helper from receiving.
  int transmit_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return progress_.transmit(now()); }
  // Number of armed CQs on which a thread may sleep; while it is not 0 the helper serves without delay. Call with +1
  // and -1; any thread, device lock may be held.
  void count_armed(int delta) {
    if (!inherited_) helper_.count_armed(delta);
  }
  bool has_armed() const { return helper_.armed(); }
  // Sleeps as ppoll(fds, n, max) does and returns what it returns. Where no other thread waits for a CQ it sleeps in
  // place of the helper, receives and sends what is due, and returns, with 0, as soon as there was any. `armed`: the
  // armed CQs that only this thread waits for. A cancellation point.
  int wait(pollfd* fds, size_t n, const timespec* max, int armed) ABSL_LOCKS_EXCLUDED(device_lock);

  // --- planes; mutex held ------------------------------------------------------------------------------------------
  // By administration; a plane without a link is not used, regardless of this.
  bool plane_enabled_locked(PlaneId plane) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    return planes_.enabled(plane);
  }
  void enable_plane_locked(PlaneId plane, bool enabled) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    planes_.enable(now(), plane, enabled);
  }

  // --- objects; mutex held -----------------------------------------------------------------------------------------
  QpnAllocator& qpns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return qpns_; }
  // The peer that (dgid, dest_qpn) means, interned: release with release_peer_locked(). ENETUNREACH, logged, when no
  // rule of the configuration covers it.
  Result<core::PeerId> resolve_peer_locked(const IpAddress& dgid, Qpn dest_qpn)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // After its last user's release the peer's figures are in the next report to mrcd.
  void release_peer_locked(core::PeerId peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  // --- multicast; mutex held. 0 or an errno value; EOPNOTSUPP, logged once, where the datapath carries none ----------
  // The groups that can have members at once. 0: the datapath carries none.
  uint32_t max_groups_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return engine_.config.max_groups; }
  // The group as the destination of datagrams, interned: as resolve_peer_locked().
  Result<core::PeerId> resolve_group_locked(const IpAddress& group, uint8_t hop_limit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  [[nodiscard]] int attach_locked(core::DatagramQp* qp, const IpAddress& group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  [[nodiscard]] int detach_locked(core::DatagramQp* qp, const IpAddress& group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  // The calls of a controller, for all processes of this host where mrcd runs. 0 or an errno value; mutex not held.
  [[nodiscard]] int modify_format(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask)
      ABSL_LOCKS_EXCLUDED(device_lock);
  [[nodiscard]] int modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask)
      ABSL_LOCKS_EXCLUDED(device_lock);
  [[nodiscard]] int modify_cc(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask)
      ABSL_LOCKS_EXCLUDED(device_lock);
  [[nodiscard]] int enable_plane(PlaneId plane, bool up) ABSL_LOCKS_EXCLUDED(device_lock);
  // The next such call is one to mrcd, which passes it on to all processes and engines.
  bool shares_state() const { return !inherited_ && shared_.shared(); }
  DeviceProfiles& profiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) { return profiles_; }
  const core::CongestionConfig& congestion() const {
    return engine_.config.congestion;
  }  // of a QP without a CC profile
  // Another process, or another engine of this one, has observed a change of a path.
  void take_ev_change_locked(uint64_t profile, const mrc_ctl_ev& ev, mrc_ctl_ev_state state, uint64_t losses) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  // --- observers ---------------------------------------------------------------------------------------------------
  void add_observer(DeviceObserver* observer) ABSL_LOCKS_EXCLUDED(device_lock);
  void remove_observer(DeviceObserver* observer)
      ABSL_LOCKS_EXCLUDED(device_lock);  // never called again when this returns

  // --- reports; take the mutex -------------------------------------------------------------------------------------
  Statistics statistics() ABSL_LOCKS_EXCLUDED(device_lock);  // the same names in the same order for equal planes
  std::string stats_text() ABSL_LOCKS_EXCLUDED(device_lock);
  std::string qp_stats_text(const core::Qp* qp) ABSL_LOCKS_EXCLUDED(device_lock);
  std::string describe_json() ABSL_LOCKS_EXCLUDED(device_lock);
  ctl::DeviceReport report() override ABSL_LOCKS_EXCLUDED(device_lock);  // of this process, for tools

  // --- for Shards --------------------------------------------------------------------------------------------------
  ShardReports& shard_reports() { return shards_; }
  bool running() const { return !inherited_ && !stopping_.load(); }
  // Flushes ACKs, answers peers for a bounded time, ends the helper thread. Afterwards progress has no effect. A second
  // call is harmless.
  void stop() ABSL_LOCKS_EXCLUDED(device_lock);
  // In a child of fork: it must not be used.
  void inherit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

 private:
  using WaitFds = std::array<int, 8>;
  // The thread of a child's copy does not exist there, and its sockets are the parent's.
  struct Destroy {
    void operator()(Device* device) const {
      if (!device->inherited()) delete device;
    }
  };

  Device(DeviceFacts facts, std::unique_ptr<datapath::Datapath> datapath, const Clock& clock);
  ~Device() { stop(); }

  // Makes the engine; once, before anything else is called.
  void make_endpoint(std::unique_ptr<TraceFile> events, const ShardNumber& shard) ABSL_LOCKS_EXCLUDED(device_lock);
  Status publish(const ShardNumber& shard);
  Status start_helper();
  void linger() ABSL_LOCKS_EXCLUDED(device_lock);
  int wait_fds(WaitFds* fds) ABSL_LOCKS_EXCLUDED(device_lock);       // how many there are
  Instant fall_asleep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);  // until this time
  int wait_in_place_of_helper(const StandIn& stand_in, pollfd* fds, size_t n, const timespec* max, bool* work)
      ABSL_LOCKS_EXCLUDED(device_lock);
  void take_ev_report(const ctl::EvChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void take_shard_reports() ABSL_LOCKS_EXCLUDED(device_lock);
  // Through the daemon if there is one, else `local` with the mutex held.
  template <typename Attr, typename Local>
  int modify(uint64_t id, const Attr& attr, int mask, const Local& local) ABSL_LOCKS_EXCLUDED(device_lock);

  // Sink: the engine calls these with the lock held.
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
  void serve_requests() override ABSL_LOCKS_EXCLUDED(device_lock);
  void links_changed() override ABSL_LOCKS_EXCLUDED(device_lock);

  const DeviceFacts facts_;
  const Clock& clock_;
  DeviceMutex mutex_;
  Engine engine_;
  Progress progress_ ABSL_GUARDED_BY(device_lock){&engine_, &helper_, clock_};
  PlaneControl planes_{facts_.config, &engine_};
  QpnAllocator qpns_ ABSL_GUARDED_BY(device_lock);
  DeviceProfiles profiles_ ABSL_GUARDED_BY(device_lock);
  Observers observers_ ABSL_GUARDED_BY(device_lock);
  Publisher publisher_;
  SharedState shared_{{facts_, clock_, mutex_, engine_, progress_, planes_, profiles_}, this};
  ShardReports shards_{facts_.config};
  Helper helper_;
  std::atomic<bool> stopping_{false};  // stop() has begun
  bool inherited_ = false;
};

// An observer for as long as this lives. Throws std::bad_alloc.
class Observation {
 public:
  Observation(Device& device, DeviceObserver* observer) ABSL_LOCKS_EXCLUDED(device_lock)
      : device_(device), observer_(observer) {
    device_.add_observer(observer_);
  }
  ~Observation() { device_.remove_observer(observer_); }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  Device& device_;
  DeviceObserver* const observer_;
};

}  // namespace mrc::device
