// DeviceProfiles: the controller's profiles of one device, and what they mean to its engine: a QP with an EV profile
// uses those entries of the engine's EV table that the profile names and does not deny; a path that the engine finds
// bad or good again changes the state of the entries that stand for it.
//
// An entry stands for an EV of the table when what the format expands it to is what the driver sends: the source port
// (UDP), or flow label bits 15:0 and source port (structured EV), on the same port. With SRv6 paths the flow label
// alone says which path it is, in every process alike, and the source port of an entry does not count [MRC-SR-6].
// Entries that the driver cannot send are used by nobody. [MRC-CTL-5]
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

#include "core/config.h"
#include "core/endpoint.h"
#include "core/ev_choice.h"
#include "core/trace.h"
#include "ctl/call.h"
#include "ctl/profile_store.h"

namespace mrc::device {

// What of an EV a profile's entry names.
enum class EvNaming : uint8_t { kPort, kLabelAndPort, kLabel };
EvNaming naming_of(const std::string& ev_mode);

class DeviceProfiles {
 public:
  DeviceProfiles(const std::vector<core::EvEntry>& evs, uint32_t planes, EvNaming naming);

  // Where paths that the controller denies or allows are told; null: nowhere.
  void trace_to(core::TraceSink* sink) { trace_ = sink; }

  const ctl::ProfileStore& store() const { return store_; }
  int modify_format(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask) {
    return store_.modify_format(id, attr, mask);
  }
  int modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask);
  int modify_cc(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask) { return store_.modify_cc(id, attr, mask); }

  // What one QP holds; a default is nothing held.
  struct Hold {
    uint64_t ev_id = 0;
    uint64_t cc_id = 0;
    bool ev = false;
    bool cc = false;
    // Kept by the QP even when the controller takes the profile away meanwhile.
    std::shared_ptr<const core::EvChoice> choice;
    std::shared_ptr<const ctl::CcProfile> cc_profile;
  };
  // Both profiles, or neither. EINVAL also for an EV profile of which the driver can send nothing, ENOMEM. [MRC-CTL-4]
  int hold(uint64_t ev_id, uint64_t cc_id, Hold* out);
  void release(const Hold& hold);
  // Told of every hold and release.
  void tell_holds(std::function<void()> changed) { holds_changed_ = std::move(changed); }

  // From the daemon: one call, or all that there is. Calls that do not go with this device are left out.
  int apply(const ctl::ProfileCall& call);
  void replace(const std::vector<ctl::ProfileCall>& calls);
  std::optional<ctl::EvChange> feed(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state);

  // Null where nothing is held; `base` with what the profile says.
  std::shared_ptr<const core::CongestionConfig> congestion(const Hold& hold, const core::CongestionConfig& base) const;

  // From the engine, with the losses since it last reported this EV: the entries that changed with it.
  std::vector<ctl::EvChange> on_ev_state(uint16_t ev_index, core::EvState to, uint64_t losses = 0);
  // The name of an EV of the table in the device's own format.
  mrc_ctl_ev name_of(uint16_t ev_index) const;

 private:
  struct Name {
    mrc_ctl_ev ev;
    uint64_t losses = 0;  // not told yet
  };
  // An ONLINE profile and the table.
  struct Binding {
    std::shared_ptr<core::EvChoice> choice;
    std::unordered_map<uint16_t, Name> names;  // by index: the entry that stands for it
  };
  void bind(uint64_t id);
  // UINT16_MAX: none.
  uint16_t index_of(const ctl::EvProfile& profile, const mrc_ctl_ev& ev) const;
  int check_sendable(uint64_t ev_id);
  void show(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state);
  void trace_operator(uint16_t ev_index, bool denied) const;

  const std::vector<core::EvEntry> evs_;
  const EvNaming naming_;
  std::unordered_map<uint64_t, uint16_t> by_packet_;  // what the driver sends and the plane -> index
  std::vector<mrc_ctl_ev_state> shown_;               // by index: what the paths showed last
  core::TraceSink* trace_ = nullptr;
  ctl::ProfileStore store_;
  std::unordered_map<uint64_t, Binding> bindings_;
  std::function<void()> holds_changed_;
};

// The limits that a controller is told of, and the names of EVs.
ctl::Limits controller_limits(uint32_t planes, EvNaming naming);
std::vector<mrc_ctl_ev> ev_names(const std::vector<core::EvEntry>& evs, EvNaming naming);

}  // namespace mrc::device
