#include "ctl/format_profile.h"

#include <cerrno>
#include <cstring>

#include "ctl/array_out.h"
#include "ctl/transition.h"

namespace mrc::ctl {

namespace {

constexpr int kFormatStateBits = MRC_CTL_EV_FMT_PROFILE_STATE | MRC_CTL_EV_FMT_PROFILE_CUR_STATE;
constexpr int kFormatKnown =
    kFormatStateBits | MRC_CTL_EV_FMT_PROFILE_MODE | MRC_CTL_EV_FMT_PROFILE_OP | MRC_CTL_EV_FMT_VENDOR_CFG;

}  // namespace

// [MRC-FMT-1] [MRC-FMT-2]
int FormatProfile::modify(const mrc_ctl_ev_fmt_profile_attr& attr, int mask, const Limits& limits, FormatUse use) {
  if ((mask & ~kFormatKnown) != 0) return EINVAL;
  mrc_ctl_profile_state to;
  if (const int error = target_state(attr, (mask & MRC_CTL_EV_FMT_PROFILE_STATE) != 0,
                                     (mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE) != 0, state_, &to))
    return error;
  const bool changes = (mask & ~kFormatStateBits) != 0;
  if (changes && (state_ == MRC_CTL_PROFILE_ONLINE || to == MRC_CTL_PROFILE_INIT)) return EINVAL;
  if (state_ == MRC_CTL_PROFILE_ONLINE && to != MRC_CTL_PROFILE_ONLINE && use == FormatUse::kOnline) return EBUSY;
  if (state_ != MRC_CTL_PROFILE_INIT && to == MRC_CTL_PROFILE_INIT && use != FormatUse::kNone) return EBUSY;

  FormatProfile made = *this;
  if (mask & MRC_CTL_EV_FMT_PROFILE_MODE) {
    const int mode = number_of(attr.ev_fmt_mode);
    if (format_bits(mode) == 0) return EINVAL;
    if ((limits.format_modes & static_cast<uint32_t>(mode)) == 0) return ENOTSUP;
    made.mode_ = mode;
  }
  if (mask & MRC_CTL_EV_FMT_PROFILE_OP) {
    const auto& op = attr.ev_fmt_op;
    if (number_of(op.op) != MRC_CTL_EV_FMT_OP_MODIFY_FIELDS || op.fmt_fields == nullptr || op.fmt_field_count < 1)
      return EINVAL;
    if (static_cast<uint32_t>(op.fmt_field_count) > kEvBits) return E2BIG;
    made.fields_.assign(op.fmt_fields, op.fmt_fields + op.fmt_field_count);
  }
  if (mask & MRC_CTL_EV_FMT_VENDOR_CFG) std::memcpy(made.vendor_.data(), attr.vendor_cfg, made.vendor_.size());
  if (to != MRC_CTL_PROFILE_INIT && made.mode_ == 0) return EINVAL;
  if (to == MRC_CTL_PROFILE_ONLINE && made.fields_.empty()) return EINVAL;
  if (!made.fields_.empty() && to != MRC_CTL_PROFILE_INIT)
    if (const int error = check_format(made.mode_, made.fields_)) return error;
  if (to == MRC_CTL_PROFILE_INIT) made = FormatProfile();
  made.state_ = to;
  *this = std::move(made);
  return 0;
}

int FormatProfile::query(mrc_ctl_ev_fmt_profile_attr* attr, int mask) const {
  if ((mask & ~kFormatKnown) != 0) return EINVAL;
  if (state_ == MRC_CTL_PROFILE_INIT && (mask & ~kFormatStateBits) != 0) return EINVAL;
  if (mask & MRC_CTL_EV_FMT_PROFILE_OP) {
    auto& op = attr->ev_fmt_op;
    if (number_of(op.op) != MRC_CTL_EV_FMT_OP_QUERY_FIELDS) return EINVAL;
    if (const int error = array_out(fields_, op.fmt_fields, &op.fmt_field_count)) return error;
  }
  if (mask & MRC_CTL_EV_FMT_PROFILE_STATE) attr->profile_state = state_;
  if (mask & MRC_CTL_EV_FMT_PROFILE_CUR_STATE) attr->cur_profile_state = state_;
  if (mask & MRC_CTL_EV_FMT_PROFILE_MODE) attr->ev_fmt_mode = static_cast<mrc_ctl_ev_fmt_mode>(mode_);
  if (mask & MRC_CTL_EV_FMT_VENDOR_CFG) std::memcpy(attr->vendor_cfg, vendor_.data(), vendor_.size());
  return 0;
}

}  // namespace mrc::ctl
