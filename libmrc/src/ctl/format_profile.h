// EV format profile: the position of an EV's bits in a packet. One per id that has left INIT. [MRC-CTL-1] [MRC-FMT-*]
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ctl/ev_expand.h"
#include "ctl/limits.h"

namespace mrc::ctl {

// By EV profiles that refer to it.
enum class FormatUse : uint8_t { kNone, kNamed, kOnline };

class FormatProfile {
 public:
  mrc_ctl_profile_state state() const { return state_; }
  int mode() const { return mode_; }
  FormatFields fields() const { return fields_; }

  // 0, or an errno value with nothing changed.
  [[nodiscard]] int modify(const mrc_ctl_ev_fmt_profile_attr& attr, int mask, const Limits& limits, FormatUse use);
  [[nodiscard]] int query(mrc_ctl_ev_fmt_profile_attr* attr, int mask) const;

 private:
  mrc_ctl_profile_state state_ = MRC_CTL_PROFILE_INIT;
  int mode_ = 0;
  std::vector<mrc_ctl_ev_fmt_field> fields_;
  std::array<uint8_t, MRC_CTL_MAX_VENDOR_CFG_SIZE> vendor_{};
};

}  // namespace mrc::ctl
