// The states of a profile of any kind: INIT -> OFFLINE -> ONLINE -> OFFLINE -> INIT. Staying where one is changes
// attributes and is no transition. [MRC-CTL-1]
#pragma once

#include <cerrno>
#include <cstring>

#include "ctl/vocabulary.h"

namespace mrc::ctl {

// A caller's enumeration may hold none of its values: read as memory.
template <typename Enum>
int number_of(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int number;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

inline bool transition_exists(mrc_ctl_profile_state from, int to) {
  if (to < MRC_CTL_PROFILE_INIT || to > MRC_CTL_PROFILE_ONLINE) return false;
  return from == to || from == MRC_CTL_PROFILE_OFFLINE || to == MRC_CTL_PROFILE_OFFLINE;
}

// The state that a call requests. EINVAL when it asserts another present state or requests a change that does not
// exist.
template <typename Attr>
int target_state(const Attr& attr, bool requests, bool asserts, mrc_ctl_profile_state now, mrc_ctl_profile_state* to) {
  *to = now;
  if (asserts && number_of(attr.cur_profile_state) != now) return EINVAL;
  if (!requests) return 0;
  const int wanted = number_of(attr.profile_state);
  if (!transition_exists(now, wanted)) return EINVAL;
  *to = static_cast<mrc_ctl_profile_state>(wanted);
  return 0;
}

}  // namespace mrc::ctl
