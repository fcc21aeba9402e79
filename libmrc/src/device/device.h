// Device: the software NIC of this process, or one shard of it (shards.h). Owns the engine, the datapath under it, QP
// numbers and the helper thread; shared by all contexts that opened it
// [spec/architecture.md, decisions 5, 6, 8, 9, 11].
//
// Threads: one mutex serialises engine and datapath. Functions named *_locked, and endpoint(), need it held; everything
// else may be called from any thread without it. Observers are called with it held and must not call back into the
// device. Lock order: registry, device, then the locks of the observers.
//
// Threads that post and poll make progress inline; the helper thread serves only while the application does not
// (helper.h).
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/endpoint.h"
#include "ctl/profile_store.h"
#include "datapath/datapath.h"
#include "device/config.h"
#include "device/device_lock.h"
#include "result.h"

namespace mrc::device {

class DeviceImpl;
class DeviceProfiles;

// One per QP; QpInit::cookie must be a QpObserver*.
class QpObserver {
 public:
  // False: cannot be delivered (CQ overrun); the QP goes to error.
  virtual bool on_completion(const core::Completion& completion) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) = 0;
  virtual void on_event(core::AsyncEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) = 0;

 protected:
  ~QpObserver() = default;
};

// One per context.
class DeviceObserver {
 public:
  virtual void on_port_event(PlaneId plane, core::AsyncEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) = 0;
  // Answer to start_endpoint_op, or its absence: rtt infinite.
  virtual void on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) = 0;
  // An EV of a profile that asks for it has changed state, here or in another process of this host; `losses` on its
  // path since the profile was last notified.
  virtual void on_ev_change(const ctl::EvChange& /*change*/, uint64_t /*losses*/)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {}

 protected:
  ~DeviceObserver() = default;
};

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

class Device {
 public:
  // Starts sockets and helper thread in the first free process slot.
  static Result<std::shared_ptr<Device>> start(const DeviceConfig& config, const ShardNumber& shard = {});
  // The same over a given datapath and slot (tests, in-process use). `helper`: with a helper thread.
  static std::shared_ptr<Device> start_over(const DeviceConfig& config, std::unique_ptr<datapath::Datapath> datapath,
                                            PerEv<core::EvEntry> evs, uint8_t slot, bool helper,
                                            const ShardNumber& shard = {});
  ~Device();  // stop()
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // --- properties --------------------------------------------------------------------------------------------------
  const DeviceConfig& config() const;
  uint8_t slot() const;
  uint32_t planes() const;
  // The path MTU for new QPs: max_mtu(), or less if searches found that a path carries less. Takes the mutex.
  uint32_t active_mtu() ABSL_LOCKS_EXCLUDED(device_lock);
  uint32_t max_mtu() const;  // largest path MTU that every plane carries: 256..4096, or 8192
  const PerEv<core::EvEntry>& evs() const;
  // Attributes of a QP that sets none.
  core::QpAttr default_qp_attr() const;
  // This is a copy in a child of fork: nothing moves in it. Takes no lock.
  bool inherited() const;

  // --- progress ----------------------------------------------------------------------------------------------------
  DeviceMutex& mutex();
  core::Endpoint& endpoint() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  static Instant now();  // monotonic clock
  // Receives, runs due timers and sends; bounded work. Returns the number of bursts moved, 0 when there was nothing.
  int progress() ABSL_LOCKS_EXCLUDED(device_lock);
  int try_progress() ABSL_LOCKS_EXCLUDED(device_lock);  // returns 0 at once when another thread makes progress
  int progress_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);  // like progress()
  // After post_send: sends the packets that may be sent now, without polling for received ones.
  int transmit_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // Number of armed CQs on which a thread may sleep; while it is not 0 the helper serves without delay. Call with +1
  // and -1; any thread, device lock may be held.
  void count_armed(int delta);
  bool has_armed() const;
  // Sleeps as ppoll(fds, n, max) does and returns what it returns. Where no other thread waits for a CQ it sleeps in
  // place of the helper, receives and sends what is due, and returns, with 0, as soon as there was any. `armed`: the
  // armed CQs that only this thread waits for. A cancellation point.
  int wait(pollfd* fds, size_t n, const timespec* max, int armed) ABSL_LOCKS_EXCLUDED(device_lock);

  // --- planes; mutex held ------------------------------------------------------------------------------------------
  // By administration; a plane without a link is not used, regardless of this.
  bool plane_enabled_locked(PlaneId plane) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void enable_plane_locked(PlaneId plane, bool enabled) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  // --- objects; mutex held -----------------------------------------------------------------------------------------
  Qpn allocate_qpn_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);  // 0: none left
  void release_qpn_locked(Qpn qpn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // The peer that (dgid, dest_qpn) means, interned: release with release_peer_locked(). ENETUNREACH, logged, when no
  // rule of the configuration covers it.
  Result<core::PeerId> resolve_peer_locked(const IpAddress& dgid, Qpn dest_qpn)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  // After its last user's release the peer's figures are in the next report to mrcd.
  void release_peer_locked(core::PeerId peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  // --- multicast; mutex held. 0 or an errno value; EOPNOTSUPP, logged once, where the datapath carries none ----------
  // The groups that can have members at once. 0: the datapath carries none.
  uint32_t max_groups_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
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
  bool shares_state() const;
  DeviceProfiles& profiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  const core::CongestionConfig& congestion() const;  // of a QP without a CC profile

  // --- observers ---------------------------------------------------------------------------------------------------
  void add_observer(DeviceObserver* observer) ABSL_LOCKS_EXCLUDED(device_lock);
  void remove_observer(DeviceObserver* observer)
      ABSL_LOCKS_EXCLUDED(device_lock);  // never called again when this returns

  // --- reports; take the mutex -------------------------------------------------------------------------------------
  Statistics statistics() ABSL_LOCKS_EXCLUDED(device_lock);  // the same names in the same order for equal planes
  std::string stats_text() ABSL_LOCKS_EXCLUDED(device_lock);
  std::string qp_stats_text(const core::Qp* qp) ABSL_LOCKS_EXCLUDED(device_lock);
  std::string describe_json() ABSL_LOCKS_EXCLUDED(device_lock);

  // Flushes ACKs, answers peers for a bounded time, ends the helper thread. Afterwards progress has no effect. A second
  // call is harmless.
  void stop() ABSL_LOCKS_EXCLUDED(device_lock);

 private:
  friend class Shards;
  explicit Device(std::unique_ptr<DeviceImpl> impl);
  std::unique_ptr<DeviceImpl> impl_;
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
