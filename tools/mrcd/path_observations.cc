#include "path_observations.h"

#include <algorithm>
#include <cstring>

namespace mrc::mrcd {

namespace {

mrc_ctl_ev ev_of(const std::array<uint8_t, sizeof(mrc_ctl_ev)>& bytes) {
  mrc_ctl_ev ev{};
  std::memcpy(&ev, bytes.data(), sizeof(ev));
  return ev;
}

// False: no entry of a profile that is in use.
bool shared_state(const ctl::ProfileStore& shared, uint64_t profile, const mrc_ctl_ev& ev, mrc_ctl_ev_state* state) {
  const ctl::EvProfile* const found = shared.ev(profile);
  return found != nullptr && found->state() == MRC_CTL_PROFILE_ONLINE && found->table().state_of(ev, state) == 0;
}

}  // namespace

PathObservations::Path PathObservations::path_of(uint64_t profile, const mrc_ctl_ev& ev) {
  Path path{profile, {}};
  std::memcpy(path.second.data(), &ev, sizeof(ev));
  return path;
}

PathObservations::User& PathObservations::find(uid_t user) {
  if (users_.size() >= kMaxUsers && !users_.contains(user))
    users_.erase(std::min_element(users_.begin(), users_.end(),
                                  [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
  User& found = users_[user];
  found.last = ++reports_;
  return found;
}

bool PathObservations::feed(uid_t user, const ctl::ProfileStore& shared, uint64_t profile, const mrc_ctl_ev& ev,
                            mrc_ctl_ev_state state) {
  mrc_ctl_ev_state common = MRC_CTL_EV_UNKNOWN;
  if (!shared_state(shared, profile, ev, &common) || common == MRC_CTL_EV_DENIED) return false;
  std::map<Path, mrc_ctl_ev_state>& states = find(user).states;
  const auto own = states.find(path_of(profile, ev));
  if ((own != states.end() ? own->second : common) == state) return false;
  if (state == common)
    states.erase(own);
  else
    states[path_of(profile, ev)] = state;
  return true;
}

void PathObservations::forget(uint64_t profile, const mrc_ctl_ev& ev) {
  for (auto& [uid, user] : users_) user.states.erase(path_of(profile, ev));
}

void PathObservations::keep_entries_of(const ctl::ProfileStore& shared) {
  for (auto& [uid, user] : users_)
    std::erase_if(user.states, [&](const auto& entry) {
      mrc_ctl_ev_state common = MRC_CTL_EV_UNKNOWN;
      return !shared_state(shared, entry.first.first, ev_of(entry.first.second), &common) || common == entry.second;
    });
}

void PathObservations::apply(const User& user, ctl::ProfileStore* view) {
  for (const auto& [path, state] : user.states) view->feed_state(path.first, ev_of(path.second), state);
}

void PathObservations::apply(uid_t user, ctl::ProfileStore* view) const {
  if (const auto found = users_.find(user); found != users_.end()) apply(found->second, view);
}

// The users that reported last come last.
void PathObservations::apply_all(ctl::ProfileStore* view) const {
  std::map<uint64_t, const User*> by_age;
  for (const auto& [uid, user] : users_) by_age[user.last] = &user;
  for (const auto& [last, user] : by_age) apply(*user, view);
}

// What is kept differs from what holds for all.
void PathObservations::check(const ctl::ProfileStore& shared) const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(users_.size() <= kMaxUsers);
  size_t paths = 0;
  for (const auto& [uid, user] : users_) {
    MRC_INVARIANT(user.last <= reports_);
    paths += user.states.size();
  }
  if (!pace_.due(paths)) return;
  for (const auto& [uid, user] : users_)
    for (const auto& [path, state] : user.states) {
      mrc_ctl_ev_state common = MRC_CTL_EV_UNKNOWN;
      MRC_INVARIANT(shared_state(shared, path.first, ev_of(path.second), &common) && common != state);
    }
}

}  // namespace mrc::mrcd
