// The profile functions of the controller API: privilege, and the device, whose profiles are its own or
// shared with other processes. Queries are answered from this process's state.
#include <cerrno>

#include "api/context.h"
#include "api/errors.h"
#include "api/privilege.h"
#include "core/congestion/registry.h"
#include "ctl/cc_profile.h"
#include "device/profiles.h"

namespace {

using mrc::api::minus_one;
using mrc::device::Device;
using mrc::device::DeviceProfiles;
using mrc::device::Shards;

// 0, or -1 and errno.
template <typename Attr, typename Call>
int with_privilege(mrc_context* context, Attr* attr, const Call& body) {
  if (context == nullptr || attr == nullptr) return minus_one(EINVAL);
  if (!mrc::api::may_control(context)) return minus_one(EPERM);
  return mrc::api::or_enomem<int>(-1, [&] {
    const int error = body();
    return error == 0 ? 0 : minus_one(error);
  });
}

template <typename Attr, typename Call>
int modify(mrc_context* context, Attr* attr, const Call& body) {
  return with_privilege(context, attr, [&] { return body(context->shards()); });
}

template <typename Attr, typename Call>
int query(mrc_context* context, Attr* attr, const Call& body) {
  return with_privilege(context, attr, [&] {
    Device& device = context->device();
    const mrc::device::DeviceLock lock(device.mutex());
    return body(device.profiles());
  });
}

}  // namespace

extern "C" {

int mrc_ctl_modify_ev_fmt_profile(mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id, mrc_ctl_ev_fmt_profile_attr* attr,
                                  int attr_mask) {
  return modify(mrc_ctx, attr, [&](Shards& s) { return s.modify_format(ev_fmt_profile_id, *attr, attr_mask); });
}

int mrc_ctl_query_ev_fmt_profile(mrc_context* mrc_ctx, uint64_t ev_fmt_profile_id, mrc_ctl_ev_fmt_profile_attr* attr,
                                 int attr_mask) {
  return query(mrc_ctx, attr,
               [&](DeviceProfiles& p) { return p.store().query_format(ev_fmt_profile_id, attr, attr_mask); });
}

int mrc_ctl_modify_ev_profile(mrc_context* mrc_ctx, uint64_t ev_profile_id, mrc_ctl_ev_profile_attr* attr,
                              int attr_mask) {
  return modify(mrc_ctx, attr, [&](Shards& s) { return s.modify_ev(ev_profile_id, *attr, attr_mask); });
}

int mrc_ctl_query_ev_profile(mrc_context* mrc_ctx, uint64_t ev_profile_id, mrc_ctl_ev_profile_attr* attr,
                             int attr_mask) {
  return query(mrc_ctx, attr, [&](DeviceProfiles& p) { return p.store().query_ev(ev_profile_id, attr, attr_mask); });
}

int mrc_ctl_modify_cc_profile(mrc_context* mrc_ctx, uint64_t cc_profile_id, mrc_ctl_cc_profile_attr* attr,
                              int attr_mask) {
  return modify(mrc_ctx, attr, [&](Shards& s) { return s.modify_cc(cc_profile_id, *attr, attr_mask); });
}

// [MRC-CCP-3]
int mrc_ctl_query_cc_profile(mrc_context* mrc_ctx, uint64_t cc_profile_id, mrc_ctl_cc_profile_attr* attr,
                             int attr_mask) {
  return query(mrc_ctx, attr, [&](DeviceProfiles& p) {
    if (const int error = p.store().query_cc(cc_profile_id, attr, attr_mask)) return error;
    if ((attr_mask & MRC_CTL_CC_PROFILE_ALGORITHM) != 0)
      attr->algorithm = mrc::core::find_profile_algorithm(attr->algorithm)->profile_name;  // outlives the profile
    if ((attr_mask & MRC_CTL_CC_PROFILE_CONFIG) == 0 || attr->cc_config == nullptr) return 0;
    // The profile may change or be removed; the caller's copy does not.
    static thread_local mrc_ctl_cc_nscc_cfg config;
    config = *static_cast<const mrc_ctl_cc_nscc_cfg*>(attr->cc_config);
    attr->cc_config = &config;
    return 0;
  });
}

}  // extern "C"
