// Congestion control profile: an algorithm by name (none at all for NULL) and its configuration, which only NSCC has.
// One per id that has left INIT. [MRC-CTL-1] [MRC-CCP-*]
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ctl/limits.h"

namespace mrc::ctl {

class CcProfile {
 public:
  enum class Algorithm : uint8_t { kUnset, kNone, kNamed };

  mrc_ctl_profile_state state() const { return state_; }
  Algorithm algorithm() const { return algorithm_; }
  const char* name() const { return algorithm_ == Algorithm::kNamed ? name_.c_str() : nullptr; }
  bool is_nscc() const { return name_ == kNsccName; }
  const mrc_ctl_cc_nscc_cfg& config() const { return config_; }

  // 0, or an errno value with nothing changed. `users`: QPs with this profile.
  [[nodiscard]] int modify(const mrc_ctl_cc_profile_attr& attr, int mask, const Limits& limits, uint32_t users);
  // cc_config points to this profile's own configuration afterwards, or is null where there is none.
  [[nodiscard]] int query(mrc_ctl_cc_profile_attr* attr, int mask) const;

 private:
  mrc_ctl_profile_state state_ = MRC_CTL_PROFILE_INIT;
  Algorithm algorithm_ = Algorithm::kUnset;
  std::string name_;
  bool configured_ = false;
  mrc_ctl_cc_nscc_cfg config_{};
  std::array<uint8_t, MRC_CTL_MAX_VENDOR_CFG_SIZE> vendor_{};
};

// EINVAL for impossible parameters of NSCC; zero and negative numbers mean that a value is derived. [MRC-CCP-3]
[[nodiscard]] int check_nscc(const mrc_ctl_cc_nscc_cfg& config);

}  // namespace mrc::ctl
