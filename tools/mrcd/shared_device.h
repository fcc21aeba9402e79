// SharedDevice: mrcd's state of one device: profiles, denied paths, ports that are switched off, and the users of each
// profile. Not thread-safe; no sockets. [MRC-MRCD-3..6]
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "ctl/call.h"
#include "ctl/deny.h"
#include "ctl/messages.h"
#include "ctl/profile_store.h"
#include "invariant.h"
#include "path_observations.h"
#include "peer.h"

namespace mrc::mrcd {

using ClientId = uint64_t;

class SharedDevice {
 public:
  // `evs`: entropy values that a process has on this device; with SRv6 paths they have the same names everywhere.
  SharedDevice(std::string name, uint32_t planes, const std::string& ev_mode, uint32_t evs);

  const std::string& name() const { return name_; }
  uint32_t planes() const { return planes_; }
  const std::string& ev_mode() const { return ev_mode_; }
  uint32_t evs() const { return evs_; }
  const ctl::ProfileStore& store() const { return store_; }
  const std::vector<ctl::DenyRule>& denies() const { return denies_; }
  const std::set<uint32_t>& ports_down() const { return ports_down_; }
  // True if it has no state worth keeping.
  bool unconfigured() const;

  // The reason why an administrator's rule covers no path of this device, for any peers; empty if it may cover some.
  std::string why_no_path(const ctl::DenyRule& rule) const;
  std::string why_no_port(uint32_t port) const;  // empty where there is one

  // 0 or an errno value.
  [[nodiscard]] int modify(const ctl::ProfileCall& call);
  int set_port(uint32_t port, bool up);
  // False: there already, or not there.
  bool deny(const ctl::DenyRule& rule);
  bool allow(const ctl::DenyRule& rule);
  bool allow_all();
  // An observation of a process of that user. True when an entry of an ONLINE profile changed: for all processes if the
  // user is privileged, else for those of the same user.
  bool feed(const Peer& observer, uint64_t profile, const mrc_ctl_ev& ev, mrc_ctl_ev_state state);

  // The profiles held by the QPs of one client, replacing the former ones; empty when it has ended.
  void set_holds(ClientId client, const ctl::Holds& holds);
  void forget(ClientId client);

  // For a connecting process of that user.
  ctl::DeviceState state_for(uid_t user) const;
  // With the observations of all users.
  ctl::DeviceState whole_state() const;
  // Without the monitor's denies and observed states of paths.
  ctl::DeviceState state_for_file() const;
  std::vector<nlohmann::json> denies_json(bool for_file) const;  // the denies of that
  // False: not of a device of this shape. Invalid parts are left out.
  [[nodiscard]] bool restore(const ctl::DeviceState& state);
  void check() const;

 private:
  using Users = std::map<uint64_t, uint32_t>;
  void count_users();
  ctl::DeviceState state_of(const ctl::ProfileStore& profiles, bool for_file) const;

  const std::string name_;
  const uint32_t planes_;
  const std::string ev_mode_;
  const uint32_t evs_;
  ctl::ProfileStore store_;  // with the states that hold for all
  PathObservations observations_;
  std::vector<ctl::DenyRule> denies_;
  std::set<uint32_t> ports_down_;
  std::map<ClientId, std::pair<Users, Users>> holds_;  // EV and CC profiles
  mutable InvariantPace pace_;
};

using ctl::kMonitor;

}  // namespace mrc::mrcd
