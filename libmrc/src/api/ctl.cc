// Controller API: what exists so far. Device and port queries, the administrative state of ports and endpoint
// operations (endpoint_ops.cc) work; profiles and EV events say ENOTSUP, and the device query reports none of them.
// [API-CTL-1]
#include <cstring>

#include "api/context.h"
#include "api/errors.h"

using mrc::api::minus_one;
using mrc::api::null_with;
using mrc::api::SoftContext;

namespace {

const char* kAlgorithms[] = {"uet-1.0-nscc", nullptr};
constexpr uint32_t kEvWidthBits = 32;

void fill(const mrc::device::Device& device, mrc_ctl_device_attr* attr) {
  std::memset(attr, 0, sizeof *attr);
  attr->mrc_ctl_protocol_version = 1;
  attr->ev.ev_count_align = 1;
  attr->ev.ev_max_width = kEvWidthBits;
  attr->ev.ev_mode_mask = MRC_CTL_EV_MODE_AUTO;
  attr->cc.algorithms = kAlgorithms;
  attr->opt_attr = MRC_CTL_OPT_CAP_EP_OP_EV_PROBE;
  for (uint32_t plane = 0; plane < device.planes(); ++plane) attr->phy_port_mask |= 2u << plane;
}

// 0, or an errno value.
int check_port(const mrc_context* context, uint8_t port, const mrc_ctl_port_attr* attr, int mask) {
  if (context == nullptr || attr == nullptr || (mask & ~MRC_CTL_PORT_ADMIN_STATE) != 0) return EINVAL;
  if (port < 1 || port > context->device().planes()) return EINVAL;
  return 0;
}

}  // namespace

extern "C" {

int mrc_ctl_query_device_ex(ibv_context* context, mrc_context* mcontext, mrc_ctl_device_attr* ctl_attr,
                            int* supported) {
  if (context == nullptr || ctl_attr == nullptr) return minus_one(EINVAL);
  SoftContext* soft = SoftContext::of(context);
  if (mcontext != nullptr && (soft == nullptr || &mcontext->soft() != soft)) return minus_one(EINVAL);
  if (soft == nullptr) {
    std::memset(ctl_attr, 0, sizeof *ctl_attr);
    if (supported == nullptr) return minus_one(ENOTSUP);
    *supported = 0;
    return 0;
  }
  fill(soft->device(), ctl_attr);
  if (supported != nullptr) *supported = 1;
  return 0;
}

int mrc_ctl_query_device(ibv_context* context, mrc_ctl_device_attr* ctl_attr) {
  return mrc_ctl_query_device_ex(context, nullptr, ctl_attr, nullptr);
}

int mrc_ctl_query_port(mrc_context* context, uint8_t port_num, mrc_ctl_port_attr* attr, int attr_mask) {
  if (const int error = check_port(context, port_num, attr, attr_mask)) return minus_one(error);
  if (attr_mask & MRC_CTL_PORT_ADMIN_STATE)
    attr->port_admin_state =
        context->soft().plane_enabled(port_num) ? MRC_CTL_PORT_ADMIN_ENABLED : MRC_CTL_PORT_ADMIN_DISABLED;
  return 0;
}

int mrc_ctl_modify_port(mrc_context* context, uint8_t port_num, mrc_ctl_port_attr* attr, int attr_mask) {
  if (const int error = check_port(context, port_num, attr, attr_mask)) return minus_one(error);
  if ((attr_mask & MRC_CTL_PORT_ADMIN_STATE) == 0) return 0;
  const int wanted = attr->port_admin_state;
  if (wanted != MRC_CTL_PORT_ADMIN_DISABLED && wanted != MRC_CTL_PORT_ADMIN_ENABLED) return minus_one(EINVAL);
  context->soft().enable_plane(port_num, wanted == MRC_CTL_PORT_ADMIN_ENABLED);
  return 0;
}

int mrc_ctl_modify_ev_fmt_profile(mrc_context*, uint64_t, mrc_ctl_ev_fmt_profile_attr*, int) {
  return minus_one(ENOTSUP);
}

int mrc_ctl_query_ev_fmt_profile(mrc_context*, uint64_t, mrc_ctl_ev_fmt_profile_attr*, int) {
  return minus_one(ENOTSUP);
}

int mrc_ctl_modify_ev_profile(mrc_context*, uint64_t, mrc_ctl_ev_profile_attr*, int) {
  return minus_one(ENOTSUP);
}

int mrc_ctl_query_ev_profile(mrc_context*, uint64_t, mrc_ctl_ev_profile_attr*, int) {
  return minus_one(ENOTSUP);
}

int mrc_ctl_modify_cc_profile(mrc_context*, uint64_t, mrc_ctl_cc_profile_attr*, int) {
  return minus_one(ENOTSUP);
}

int mrc_ctl_query_cc_profile(mrc_context*, uint64_t, mrc_ctl_cc_profile_attr*, int) {
  return minus_one(ENOTSUP);
}

mrc_cq* mrc_ctl_create_ev_event_cq(mrc_context*, int, void*, mrc_comp_channel*, int) {
  return null_with(ENOTSUP);
}

// [API-CTL-3]
int mrc_ctl_poll_ev_event(mrc_cq*, int, mrc_ctl_ev_event*) {
  errno = ENOTSUP;
  return -ENOTSUP;
}

}  // extern "C"
