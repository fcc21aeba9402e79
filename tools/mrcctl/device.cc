#include "device.h"

#include "daemon.h"

#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/ip.h"
#include "config_refusal.h"

namespace mrcctl {

namespace {

// Any number that the controller has not assigned; the profile lives in this process for one call.
constexpr uint64_t kScratchProfile = UINT64_MAX;

[[noreturn]] void fail(const std::string& what) {
  const int error = errno;
  if (error == EPERM)
    throw Error(what + ": this needs CAP_NET_ADMIN, or membership of the group that the setting ctl_group names");
  throw Error(what + ": " + std::strerror(error));
}

}  // namespace

Device::Device(const std::string& name) {
  keep_devices_out();
  verbs_ = mrc_soft_open_device_by_name(name.empty() ? nullptr : name.c_str());
  const int error = errno;
  if (const std::string refusal = mrc::tools::config_refusal(); verbs_ == nullptr && !refusal.empty())
    throw Error(refusal);
  errno = error;
  if (verbs_ == nullptr) fail("cannot open device '" + name + "'");
  context_ = mrc_create_context(verbs_, nullptr);
  if (context_ != nullptr) return;
  const int why = errno;
  mrc_soft_close_device(verbs_);
  errno = why;
  fail("cannot use device '" + name + "'");
}

Device::~Device() {
  mrc_destroy_context(context_);
  mrc_soft_close_device(verbs_);
}

mrc_ctl_device_attr Device::attributes() const {
  mrc_ctl_device_attr attr;
  if (mrc_ctl_query_device(verbs_, &attr) != 0) fail("cannot query the device");
  return attr;
}

std::vector<uint8_t> Device::ports() const {
  std::vector<uint8_t> ports;
  const uint32_t mask = attributes().phy_port_mask;
  for (uint8_t port = 1; port < 32; ++port)
    if ((mask >> port & 1) != 0) ports.push_back(port);
  return ports;
}

std::vector<mrc_ctl_ev> Device::evs() const {
  mrc_ctl_ev_profile_attr attr{};
  attr.profile_state = MRC_CTL_PROFILE_OFFLINE;
  attr.ev_mode = MRC_CTL_EV_MODE_AUTO;
  if (mrc_ctl_modify_ev_profile(context_, kScratchProfile, &attr, MRC_CTL_EV_PROFILE_STATE | MRC_CTL_EV_PROFILE_MODE))
    fail("cannot list the EVs");
  std::vector<mrc_ctl_ev_op_entry> entries;
  attr.ev_op = {MRC_CTL_EV_OP_QUERY_EV_ARRAY, nullptr, 0};
  int result = mrc_ctl_query_ev_profile(context_, kScratchProfile, &attr, MRC_CTL_EV_PROFILE_EV_OP);
  if (result != 0 && errno == E2BIG) {
    entries.resize(static_cast<size_t>(attr.ev_op.entry_count));
    attr.ev_op.entries = entries.data();
    result = mrc_ctl_query_ev_profile(context_, kScratchProfile, &attr, MRC_CTL_EV_PROFILE_EV_OP);
  }
  if (result != 0) fail("cannot list the EVs");
  attr.profile_state = MRC_CTL_PROFILE_INIT;
  mrc_ctl_modify_ev_profile(context_, kScratchProfile, &attr, MRC_CTL_EV_PROFILE_STATE);
  std::vector<mrc_ctl_ev> evs;
  for (const mrc_ctl_ev_op_entry& entry : entries) evs.push_back(entry.ev);
  return evs;
}

mrc_ctl_ev_fmt_mode Device::ev_format() const {
  return (attributes().ev.ev_fmt_mode_mask & MRC_CTL_EV_FMT_MODE_STEV) != 0 ? MRC_CTL_EV_FMT_MODE_STEV
                                                                            : MRC_CTL_EV_FMT_MODE_UDP;
}

union ibv_gid Device::gid(int index) const {
  union ibv_gid gid {};
  if (mrc_soft_query_gid(verbs_, 1, index, &gid) != 0) fail("cannot read the GID table");
  return gid;
}

std::vector<std::string> device_names() {
  int count = 0;
  ibv_device** list = mrc_soft_get_device_list(&count);
  if (const std::string refusal = mrc::tools::config_refusal(); list == nullptr && !refusal.empty())
    throw Error(refusal);
  if (list == nullptr) fail("cannot list the devices");
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(mrc_soft_get_device_name(list[i]));
  mrc_soft_free_device_list(list);
  return names;
}

std::string gid_text(const union ibv_gid& gid) {
  const auto address = std::bit_cast<mrc::IpAddress>(gid);
  return address.is_zero() ? "" : address.to_string();
}

union ibv_gid parse_gid(const std::string& text) {
  const std::optional<mrc::IpAddress> address = mrc::IpAddress::parse(text);
  if (!address)
    // Names are not resolved: they belong to the management address of a host, which is no port of a device.
    throw Error("'" + text +
                "' is no GID: an IPv6 or IPv4 address of a device, as `mrcctl show devices` on that host "
                "prints; host names are for `preflight --run`");
  return std::bit_cast<union ibv_gid>(*address);
}

std::string ev_text(const mrc_ctl_ev& ev, mrc_ctl_ev_fmt_mode format) {
  char text[32];
  const unsigned high = static_cast<unsigned>(ev.val[0] << 8 | ev.val[1]);
  const unsigned low = static_cast<unsigned>(ev.val[2] << 8 | ev.val[3]);
  if (format == MRC_CTL_EV_FMT_MODE_UDP)
    std::snprintf(text, sizeof text, "%u", high);
  else
    std::snprintf(text, sizeof text, "0x%04x:%u", high, low);
  return text;
}

const char* format_name(int mode) {
  switch (mode) {
    case MRC_CTL_EV_FMT_MODE_UDP:
      return "UDP";
    case MRC_CTL_EV_FMT_MODE_STEV:
      return "STEV";
    case MRC_CTL_EV_FMT_MODE_SRV6:
      return "SRv6";
    default:
      return "?";
  }
}

}  // namespace mrcctl
