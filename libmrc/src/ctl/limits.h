// Limits and features for a controller; mrc_ctl_query_device reports them. Plain data, filled by the owner of the
// profiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ctl/vocabulary.h"

namespace mrc::ctl {

inline constexpr const char* kNsccName = "uet-1.0-nscc";
inline constexpr uint32_t kMaxEvsPerProfile = 1u << 16;

struct Limits {
  uint32_t format_profiles = 64;
  uint32_t ev_profiles = 256;
  uint32_t evs = 1u << 20;  // in all profiles together
  uint32_t evs_per_profile = kMaxEvsPerProfile;
  uint32_t ev_count_align = 1;
  uint32_t ev_op_entries = 0;  // of one call; 0: any number
  uint32_t format_modes = MRC_CTL_EV_FMT_MODE_STEV | MRC_CTL_EV_FMT_MODE_SRV6 | MRC_CTL_EV_FMT_MODE_UDP;
  uint32_t ev_modes = MRC_CTL_EV_MODE_AUTO | MRC_CTL_EV_MODE_EXP | MRC_CTL_EV_MODE_GEN;
  uint32_t cc_profiles = 64;
  std::vector<std::string> cc_algorithms = {kNsccName};
  uint32_t ports = 4;    // planes, numbered from 1
  uint32_t options = 0;  // enum mrc_ctl_attr_opt
};

}  // namespace mrc::ctl
