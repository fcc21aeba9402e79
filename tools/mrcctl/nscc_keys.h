// Names of NSCC's configuration, in profile files and where profiles are shown: those of mrc_ctl.h.
#pragma once

#include <cstdint>

#include "mrc_ctl.h"

namespace mrcctl {

struct NsccNumber {
  const char* name;
  uint32_t mrc_ctl_cc_nscc_cfg::*member;
};
inline constexpr NsccNumber kNsccNumbers[] = {
    {"adjust_bytes_threshold", &mrc_ctl_cc_nscc_cfg::adjust_bytes_threshold},
    {"adjust_period_threshold", &mrc_ctl_cc_nscc_cfg::adjust_period_threshold},
    {"base_rtt", &mrc_ctl_cc_nscc_cfg::base_rtt},
    {"max_cwnd", &mrc_ctl_cc_nscc_cfg::max_cwnd},
    {"qa_threshold", &mrc_ctl_cc_nscc_cfg::qa_threshold},
    {"target_delay", &mrc_ctl_cc_nscc_cfg::target_delay}};

struct NsccGain {
  const char* name;
  float mrc_ctl_cc_nscc_cfg::*member;
};
inline constexpr NsccGain kNsccGains[] = {{"eta", &mrc_ctl_cc_nscc_cfg::eta},
                                          {"fi", &mrc_ctl_cc_nscc_cfg::fi},
                                          {"fi_scale", &mrc_ctl_cc_nscc_cfg::fi_scale},
                                          {"gamma", &mrc_ctl_cc_nscc_cfg::gamma},
                                          {"max_md_jump", &mrc_ctl_cc_nscc_cfg::max_md_jump}};

}  // namespace mrcctl
