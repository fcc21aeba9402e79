// SharedState: what this device shares with the other processes of the host through mrcd: profiles, denied paths and
// the administrative state of ports. Changes come from the daemon and are applied here under the device's lock; what
// the paths show, and which profiles QPs hold, goes the other way. Without a daemon a process has all of this for
// itself. [MRC-MRCD-1..7, spec/mrcd.md]
//
// Threads: messages come on the helper thread. Functions named *_locked need the device's lock, the others must be
// called without it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/planes.h"
#include "core/types.h"
#include "ctl/call.h"
#include "ctl/deny.h"
#include "ctl/messages.h"
#include "ctl/profile_store.h"
#include "datapath/srv6/plan.h"
#include "device/clock.h"
#include "device/daemon_link.h"
#include "device/delay_reports.h"
#include "device/device_lock.h"
#include "device/engine.h"
#include "device/facts.h"
#include "device/ignored_input.h"
#include "device/plane_control.h"
#include "device/profiles.h"
#include "device/progress.h"

namespace mrc::device {

// The parts of the device that are changed here, and read. They outlive it.
struct SharedStateParts {
  const DeviceFacts& facts;
  const Clock& clock;
  DeviceMutex& mutex;
  Engine& engine;
  Progress& progress ABSL_GUARDED_BY(device_lock);
  PlaneControl& planes;
  DeviceProfiles& profiles ABSL_GUARDED_BY(device_lock);
};

// What only the device as a whole can do.
class SharedStateWork {
 public:
  virtual ctl::DeviceReport report() ABSL_LOCKS_EXCLUDED(device_lock) = 0;
  // Another process has observed a change of a path.
  virtual void take_ev_change_locked(uint64_t profile, const mrc_ctl_ev& ev, mrc_ctl_ev_state state, uint64_t losses)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) = 0;

 protected:
  ~SharedStateWork() = default;
};

class SharedState final : public LinkListener {
 public:
  SharedState(const SharedStateParts& parts, SharedStateWork* work)
      : parts_(parts), work_(*work), ignored_(parts.facts.config.name) {}
  ~SharedState() { link_.close(); }

  // Connects to the daemon if there is one, and waits a short time for its first message. Called before the helper
  // thread starts.
  void start() ABSL_LOCKS_EXCLUDED(device_lock);
  void stop() ABSL_LOCKS_EXCLUDED(device_lock);  // after the helper thread; the last figures are sent first
  void abandon() { link_.abandon(); }
  int fd() const { return link_.fd(); }
  void serve() { link_.serve(); }

  // True if changes are made by the daemon. Also while it is absent: a process that once was connected makes no change
  // by itself.
  bool shared() const { return link_.was_connected(); }
  bool has_daemon() const { return link_.connected(); }
  // 0 or an errno value: EIO when the daemon does not answer.
  [[nodiscard]] int modify(nlohmann::json call) ABSL_LOCKS_EXCLUDED(device_lock);
  [[nodiscard]] int modify_port(uint32_t port, bool up) ABSL_LOCKS_EXCLUDED(device_lock);

  void on_ev_change_locked(const ctl::EvChange& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_holds_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void on_peer_addresses_locked(core::PeerId peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock) {
    if (!denies_.empty()) deny_locked(peer);
  }
  void on_peer_released_locked(ctl::PeerReport last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  // LinkListener.
  nlohmann::json registration() override ABSL_LOCKS_EXCLUDED(device_lock);
  void on_connected() override ABSL_LOCKS_EXCLUDED(device_lock);
  void on_message(const nlohmann::json& message) override ABSL_LOCKS_EXCLUDED(device_lock);
  void on_daemon_absent() override ABSL_LOCKS_EXCLUDED(device_lock);

 private:
  // None: no call, which is counted.
  std::optional<ctl::ProfileCall> parsed_call(const nlohmann::json& text);
  void take_state(const ctl::DeviceState& state);
  void take_call(const nlohmann::json& call);
  void take_denies(const std::vector<nlohmann::json>& rules);
  void set_denies(std::vector<ctl::DenyRule> rules);
  void take_ports(const std::vector<ctl::Whole<uint32_t>>& down, bool all);
  void take_path(const ctl::PathChange& path);
  ctl::DeviceReport report_for_daemon(DelayReports::Peers* released) ABSL_LOCKS_EXCLUDED(device_lock);
  void answer(uint64_t token) ABSL_LOCKS_EXCLUDED(device_lock);
  void send_last(const DelayReports::Peers& peers);
  void deny_locked(core::PeerId peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void wake_senders_locked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(device_lock);

  const SharedStateParts parts_;
  SharedStateWork& work_;
  IgnoredInput ignored_;  // of the thread that serves the link
  DaemonLink link_;
  std::shared_ptr<const datapath::Srv6Plan> plan_;  // set by start()
  std::vector<ctl::DenyRule> denies_ ABSL_GUARDED_BY(device_lock);
  DelayReports delays_ ABSL_GUARDED_BY(device_lock);
  PlaneSet ports_down_ ABSL_GUARDED_BY(device_lock);  // by the daemon
};

}  // namespace mrc::device
