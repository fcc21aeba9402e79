// DeviceProfiles: the controller's profiles of one device, and their meaning for its engine: a QP with an EV profile
// uses those entries of the engine's EV table that the profile names and does not deny; a path that the engine finds
// bad or good again changes the state of the entries for it.
//
// An entry represents an EV of the table when its expansion by the format equals the driver's encoding: the source port
// (UDP), or flow label bits 15:0 and source port (structured EV), on the same port. With SRv6 paths the flow label
// alone identifies the path, in every process alike, and the source port of an entry is ignored [MRC-SR-6].
// Entries that the driver cannot send are not used. [MRC-CTL-5]
//
// Guarded by the device's mutex.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "core/config.h"
#include "core/ev_choice.h"
#include "core/status.h"
#include "core/trace.h"
#include "ctl/call.h"
#include "ctl/profile_store.h"
#include "device/clock.h"
#include "device/setting_words.h"
#include "invariant.h"

namespace mrc::device {

// The parts of an EV that a profile's entry specifies.
enum class EvNaming : uint8_t { kPort, kLabelAndPort, kLabel };
EvNaming naming_of(EvMode mode);

class DeviceProfiles {
 public:
  DeviceProfiles(const PerEv<core::EvEntry>& evs, uint32_t planes, EvNaming naming);

  // Receives the paths that the controller denies or allows; may be null.
  void trace_to(core::TraceSink* sink, const Clock* clock) {
    trace_ = sink;
    clock_ = clock;
  }

  const ctl::ProfileStore& store() const { return store_; }
  [[nodiscard]] int modify_format(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask) {
    return store_.modify_format(id, attr, mask);
  }
  [[nodiscard]] int modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask);
  [[nodiscard]] int modify_cc(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask) {
    return store_.modify_cc(id, attr, mask);
  }

  // The profiles that one QP holds; default: none.
  struct Hold {
    uint64_t ev_id = 0;
    uint64_t cc_id = 0;
    bool ev = false;
    bool cc = false;
    // Kept by the QP even when the controller removes the profile meanwhile.
    std::shared_ptr<const core::EvChoice> choice;
    std::shared_ptr<const ctl::CcProfile> cc_profile;
  };
  // Both profiles, or neither. EINVAL also for an EV profile of which the driver can send no EV, ENOMEM. [MRC-CTL-4]
  [[nodiscard]] int hold(uint64_t ev_id, uint64_t cc_id, Hold* out);
  void release(const Hold& hold);
  // For a call of a controller that several engines have to follow. The QPs of this engine that hold the profile, and
  // in place of them those of all engines during the call, so that each engine decides alike; and the profiles as they
  // were before a call that has changed only some engines.
  uint32_t users(ctl::ProfileKind kind, uint64_t id) const;
  void set_users(ctl::ProfileKind kind, uint64_t id, uint32_t users);
  ctl::ProfileStore save() const { return store_.copy(); }
  void restore(ctl::ProfileStore&& saved) { store_.replace(std::move(saved)); }

  // Called at every hold and release.
  void set_holds_observer(std::function<void()> changed) { holds_changed_ = std::move(changed); }

  // From the daemon: one call, or the whole state. Calls that do not apply to this device are skipped.
  [[nodiscard]] int apply(const ctl::ProfileCall& call);
  void replace(const std::vector<ctl::ProfileCall>& calls);
  std::optional<ctl::EvChange> feed(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state);

  // Null if none is held; `base` with the profile's values.
  std::shared_ptr<const core::CongestionConfig> congestion(const Hold& hold, const core::CongestionConfig& base) const;

  // From the engine, with the losses since it last reported this EV: the entries that changed with it.
  std::vector<ctl::EvChange> on_ev_state(EvIndex ev_index, core::EvState to, uint64_t losses = 0);
  // The name of an EV of the table in the device's own format.
  mrc_ctl_ev name_of(EvIndex ev_index) const;
  void check() const;

 private:
  struct Name {
    mrc_ctl_ev ev;
    uint64_t losses = 0;  // not reported yet
  };
  // An ONLINE profile and the table.
  struct Binding {
    std::shared_ptr<core::EvChoice> choice;
    std::unordered_map<EvIndex, Name> names;  // the entry for it
  };
  void bind(uint64_t id);
  std::optional<EvIndex> index_of(const ctl::EvProfile& profile, const mrc_ctl_ev& ev) const;
  [[nodiscard]] int check_sendable(uint64_t ev_id);
  void show(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state);
  void trace_operator(EvIndex ev_index, bool denied) const;

  const PerEv<core::EvEntry> evs_;
  const EvNaming naming_;
  std::unordered_map<uint64_t, EvIndex> by_packet_;  // by the driver's encoding and the plane
  PerEv<mrc_ctl_ev_state> shown_;                    // the last observed state
  core::TraceSink* trace_ = nullptr;
  const Clock* clock_ = nullptr;
  ctl::ProfileStore store_;
  std::unordered_map<uint64_t, Binding> bindings_;
  std::function<void()> holds_changed_;
  mutable InvariantPace pace_;
};

// The limits reported to a controller, and the names of EVs.
ctl::Limits controller_limits(uint32_t planes, EvNaming naming);
std::vector<mrc_ctl_ev> ev_names(const PerEv<core::EvEntry>& evs, EvNaming naming);

}  // namespace mrc::device
