// Controller API: the device's features, and the administrative state of its ports. Profiles: profiles.cc, EV events:
// ev_events.cc, endpoint operations: endpoint_ops.cc. [API-CTL-1]
#include <algorithm>
#include <cstring>
#include <vector>

#include "api/context.h"
#include "api/errors.h"
#include "api/privilege.h"
#include "core/congestion/registry.h"
#include "device/profiles.h"

using mrc::api::minus_one;
using mrc::api::SoftContext;

namespace {

// Names that a CC profile can have, NULL-terminated; valid as long as the library is loaded.
const char** profile_algorithms() {
  static std::vector<const char*> names = [] {
    std::vector<const char*> made;
    for (const mrc::core::CongestionAlgorithm* a : mrc::core::congestion_algorithms())
      if (a->profile_name != nullptr) made.push_back(a->profile_name);
    made.push_back(nullptr);
    return made;
  }();
  return names.data();
}

uint32_t widest(uint32_t modes) {
  uint32_t bits = 0;
  for (int mode : {MRC_CTL_EV_FMT_MODE_UDP, MRC_CTL_EV_FMT_MODE_STEV, MRC_CTL_EV_FMT_MODE_SRV6})
    if ((modes & static_cast<uint32_t>(mode)) != 0) bits = std::max(bits, mrc::ctl::format_bits(mode));
  return bits;
}

void fill(mrc::device::Device& device, mrc_ctl_device_attr* attr) {
  const mrc::device::DeviceLock lock(device.mutex());
  const mrc::ctl::ProfileStore& profiles = device.profiles().store();
  const mrc::ctl::Limits& limits = profiles.limits();
  std::memset(attr, 0, sizeof *attr);
  attr->mrc_ctl_protocol_version = 1;
  attr->ev.ev_max_fmt_profiles = limits.format_profiles;
  attr->ev.ev_max_profiles = limits.ev_profiles;
  attr->ev.ev_max_count = limits.evs;
  attr->ev.ev_free_count = profiles.free_evs();
  attr->ev.ev_max_count_profile = limits.evs_per_profile;
  attr->ev.ev_count_align = limits.ev_count_align;
  attr->ev.ev_max_width = widest(limits.format_modes);
  attr->ev.ev_fmt_mode_mask = limits.format_modes;
  attr->ev.ev_mode_mask = limits.ev_modes;
  attr->ev.ev_op_max_entries = limits.ev_op_entries;
  attr->cc.cc_max_profiles = limits.cc_profiles;
  attr->cc.algorithms = profile_algorithms();
  attr->opt_attr = limits.options;
  attr->phy_port_mask |= mrc::PlaneSet::all(device.planes()).mask() << 1;
}

// 0, or an errno value.
int check_port(const mrc_context* context, uint8_t port, const mrc_ctl_port_attr* attr, int mask) {
  if (context == nullptr || attr == nullptr || (mask & ~MRC_CTL_PORT_ADMIN_STATE) != 0) return EINVAL;
  if (port < 1 || port > context->device().planes()) return EINVAL;
  return mrc::api::may_control(context) ? 0 : EPERM;
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
  const int wanted = mrc::api::raw(attr->port_admin_state);
  if (wanted != MRC_CTL_PORT_ADMIN_DISABLED && wanted != MRC_CTL_PORT_ADMIN_ENABLED) return minus_one(EINVAL);
  return mrc::api::or_enomem<int>(-1, [&] {
    const int error =
        context->shards().enable_plane(mrc::plane_of_port(port_num), wanted == MRC_CTL_PORT_ADMIN_ENABLED);
    return error == 0 ? 0 : minus_one(error);
  });
}

}  // extern "C"
