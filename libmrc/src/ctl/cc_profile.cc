#include "ctl/cc_profile.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "ctl/transition.h"

namespace mrc::ctl {

namespace {

constexpr int kCcStateBits = MRC_CTL_CC_PROFILE_STATE | MRC_CTL_CC_PROFILE_CUR_STATE;
constexpr int kCcKnown =
    kCcStateBits | MRC_CTL_CC_PROFILE_ALGORITHM | MRC_CTL_CC_PROFILE_CONFIG | MRC_CTL_CC_PROFILE_VENDOR_CFG;
constexpr uint8_t kMaxQaGate = 62;  // a shift

}  // namespace

int check_nscc(const mrc_ctl_cc_nscc_cfg& config) {
  for (const float value : {config.eta, config.fi, config.fi_scale, config.gamma, config.max_md_jump})
    if (!std::isfinite(value)) return EINVAL;
  if (config.gamma > 1 || config.max_md_jump > 1 || config.qa_gate > kMaxQaGate) return EINVAL;
  return config.disable_qa <= 1 ? 0 : EINVAL;
}

// [MRC-CCP-1] [MRC-CCP-2]
int CcProfile::modify(const mrc_ctl_cc_profile_attr& attr, int mask, const Limits& limits, uint32_t users) {
  if ((mask & ~kCcKnown) != 0) return EINVAL;
  mrc_ctl_profile_state to;
  if (const int error = target_state(attr, (mask & MRC_CTL_CC_PROFILE_STATE) != 0,
                                     (mask & MRC_CTL_CC_PROFILE_CUR_STATE) != 0, state_, &to))
    return error;
  const int changes = mask & ~kCcStateBits;
  if (state_ == MRC_CTL_PROFILE_ONLINE) {
    if (to != MRC_CTL_PROFILE_ONLINE && users != 0) return EBUSY;
    if ((changes & ~MRC_CTL_CC_PROFILE_CONFIG) != 0) return EINVAL;
    if (changes != 0 && (limits.options & MRC_CTL_OPT_CAP_CC_PROFILE_MODIFY_ONLINE) == 0) return ENOTSUP;
  }
  if (to == MRC_CTL_PROFILE_INIT) {
    if (changes != 0) return EINVAL;
    *this = CcProfile();
    return 0;
  }
  CcProfile made = *this;
  if (mask & MRC_CTL_CC_PROFILE_ALGORITHM) {
    const std::vector<std::string>& known = limits.cc_algorithms;
    made.name_ = attr.algorithm != nullptr ? attr.algorithm : "";
    made.algorithm_ = attr.algorithm != nullptr ? Algorithm::kNamed : Algorithm::kNone;
    if (attr.algorithm != nullptr && std::find(known.begin(), known.end(), made.name_) == known.end()) return EINVAL;
  }
  if (made.algorithm_ == Algorithm::kUnset) return EINVAL;
  if ((mask & MRC_CTL_CC_PROFILE_CONFIG) != 0 && made.is_nscc()) {
    if (attr.cc_config == nullptr) return EINVAL;
    std::memcpy(&made.config_, attr.cc_config, sizeof made.config_);
    if (const int error = check_nscc(made.config_)) return error;
    made.configured_ = true;
  }
  if (mask & MRC_CTL_CC_PROFILE_VENDOR_CFG) std::memcpy(made.vendor_.data(), attr.vendor_cfg, made.vendor_.size());
  if (to == MRC_CTL_PROFILE_ONLINE && made.is_nscc() && !made.configured_) return EINVAL;
  made.state_ = to;
  *this = made;
  return 0;
}

int CcProfile::query(mrc_ctl_cc_profile_attr* attr, int mask) const {
  if ((mask & ~kCcKnown) != 0) return EINVAL;
  if (state_ == MRC_CTL_PROFILE_INIT && (mask & ~kCcStateBits) != 0) return EINVAL;
  if (mask & MRC_CTL_CC_PROFILE_STATE) attr->profile_state = state_;
  if (mask & MRC_CTL_CC_PROFILE_CUR_STATE) attr->cur_profile_state = state_;
  if (mask & MRC_CTL_CC_PROFILE_ALGORITHM) attr->algorithm = name();
  if (mask & MRC_CTL_CC_PROFILE_CONFIG) attr->cc_config = is_nscc() && configured_ ? &config_ : nullptr;
  if (mask & MRC_CTL_CC_PROFILE_VENDOR_CFG) std::memcpy(attr->vendor_cfg, vendor_.data(), vendor_.size());
  return 0;
}

}  // namespace mrc::ctl
