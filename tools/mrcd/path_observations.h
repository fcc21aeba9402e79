// PathObservations: the states of paths that the processes of unprivileged users have observed, per user. A process
// reports by its own word, so the report of one user changes nothing for the processes of others. Not thread-safe; one
// per device. [MRC-MRCD-5]
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "ctl/profile_store.h"
#include "invariant.h"

namespace mrc::mrcd {

class PathObservations {
 public:
  // `shared`: the profiles with the states that hold for all users. True when the entry of an ONLINE profile changes in
  // the view of that user's processes.
  bool feed(uid_t user, const ctl::ProfileStore& shared, uint64_t profile, const mrc_ctl_ev& ev,
            mrc_ctl_ev_state state);
  // The controller or a privileged process has set this state: it holds for all.
  void forget(uint64_t profile, const mrc_ctl_ev& ev);
  // After a change of profiles: drops what is no longer an entry of one.
  void keep_entries_of(const ctl::ProfileStore& shared);

  // Applies the observations of that user, or those of all, to a copy of the shared profiles.
  void apply(uid_t user, ctl::ProfileStore* view) const;
  void apply_all(ctl::ProfileStore* view) const;
  void check(const ctl::ProfileStore& shared) const;

 private:
  static constexpr size_t kMaxUsers = 64;  // beyond them the observations of the user that reported least recently go

  using Path = std::pair<uint64_t, std::array<uint8_t, sizeof(mrc_ctl_ev)>>;  // profile and EV
  struct User {
    uint64_t last = 0;  // number of its last report
    std::map<Path, mrc_ctl_ev_state> states;
  };
  static Path path_of(uint64_t profile, const mrc_ctl_ev& ev);
  static void apply(const User& user, ctl::ProfileStore* view);
  User& find(uid_t user);

  std::map<uid_t, User> users_;
  uint64_t reports_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::mrcd
