// ProfileStore: all profiles of one device, by kind and id, and their relations: EV profiles refer to formats,
// QPs hold EV and CC profiles, and the device limits their number. One call of mrc_ctl.h is one call here.
//
// Not thread-safe: the owner serialises. Every `int` is 0 or an errno value. [spec/controller.md]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ctl/cc_profile.h"
#include "ctl/ev_profile.h"
#include "ctl/format_profile.h"
#include "ctl/limits.h"
#include "invariant.h"

namespace mrc::ctl {

// An EV of an ONLINE profile has changed state.
struct EvChange {
  uint64_t profile_id;
  mrc_ctl_ev ev;
  mrc_ctl_ev_state state;
  bool wanted = true;   // by the profile's event mask
  uint64_t losses = 0;  // on its path since the profile was last notified
};

class ProfileStore {
 public:
  ProfileStore(const Limits& limits, std::vector<mrc_ctl_ev> device_evs);

  const Limits& limits() const { return limits_; }
  uint32_t free_evs() const;

  [[nodiscard]] int modify_format(uint64_t id, const mrc_ctl_ev_fmt_profile_attr& attr, int mask);
  [[nodiscard]] int query_format(uint64_t id, mrc_ctl_ev_fmt_profile_attr* attr, int mask) const;
  [[nodiscard]] int modify_ev(uint64_t id, const mrc_ctl_ev_profile_attr& attr, int mask);
  [[nodiscard]] int query_ev(uint64_t id, mrc_ctl_ev_profile_attr* attr, int mask) const;
  [[nodiscard]] int modify_cc(uint64_t id, const mrc_ctl_cc_profile_attr& attr, int mask);
  [[nodiscard]] int query_cc(uint64_t id, mrc_ctl_cc_profile_attr* attr, int mask) const;

  // For a QP: EINVAL unless the profile is ONLINE. Without such a profile, id 0 is the device's own default and no
  // error. *counted: there is a profile, to be released. [MRC-CTL-4]
  [[nodiscard]] int hold_ev(uint64_t id, bool* counted);
  void release_ev(uint64_t id);
  [[nodiscard]] int hold_cc(uint64_t id, bool* counted);
  void release_cc(uint64_t id);
  // Null: in INIT.
  const EvProfile* ev(uint64_t id) const;
  const CcProfile* cc(uint64_t id) const;
  const FormatProfile* format(uint64_t id) const;
  std::vector<uint64_t> format_ids() const;
  std::vector<uint64_t> ev_ids() const;
  std::vector<uint64_t> cc_ids() const;
  // A copy of a store kept by another process: that one checks whether QPs hold a profile, and this copy accepts the
  // call.
  void follow() { following_ = true; }
  ProfileStore copy() const;
  // All profiles become those of `other`, and QPs keep the profiles that they hold.
  void replace(ProfileStore&& other);
  // The QPs that hold each profile, where there are any.
  std::vector<std::pair<uint64_t, uint32_t>> ev_users() const;
  std::vector<std::pair<uint64_t, uint32_t>> cc_users() const;
  // QPs of other processes, in place of the number before.
  void set_ev_users(uint64_t id, uint32_t users);
  void set_cc_users(uint64_t id, uint32_t users);
  // Incremented by every successful change of an EV profile, its states included.
  uint64_t generation() const { return generation_; }

  // An observation of another process; no effect when the profile has no such entry or it is in that state.
  std::optional<EvChange> feed(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state);
  // A path of the device has changed: named(id, &ev) gives its EV in profile `id`, false if the profile does
  // not contain it. Entries of all ONLINE profiles are updated.
  template <typename Named>
  std::vector<EvChange> on_path(mrc_ctl_ev_state state, const Named& named);
  // The same for one entry of one profile, without a notification.
  void feed_state(uint64_t id, const mrc_ctl_ev& ev, mrc_ctl_ev_state state);
  void check() const;

 private:
  template <typename Profile>
  struct Held {
    Profile profile;
    uint32_t users = 0;
  };
  template <typename Profile>
  using Table = std::unordered_map<uint64_t, std::unique_ptr<Held<Profile>>>;

  template <typename Profile, typename Change>
  [[nodiscard]] int change(Table<Profile>* table, uint64_t id, uint32_t max, const Change& change);
  FormatUse format_use(uint64_t id) const;

  const Limits limits_;
  const std::vector<mrc_ctl_ev> device_evs_;
  Table<FormatProfile> formats_;
  Table<EvProfile> evs_;
  Table<CcProfile> ccs_;
  uint64_t generation_ = 1;
  bool following_ = false;
  mutable InvariantPace pace_;
};

// [MRC-PROF-7]
template <typename Named>
std::vector<EvChange> ProfileStore::on_path(mrc_ctl_ev_state state, const Named& named) {
  std::vector<EvChange> changes;
  for (auto& [id, held] : evs_) {
    EvProfile& profile = held->profile;
    if (profile.state() != MRC_CTL_PROFILE_ONLINE) continue;
    mrc_ctl_ev ev{};
    if (!named(id, &ev) || !profile.feed_state(ev, state)) continue;
    ++generation_;
    changes.push_back({id, ev, state, (profile.event_mask() & state) != 0});
  }
  return changes;
}

}  // namespace mrc::ctl
