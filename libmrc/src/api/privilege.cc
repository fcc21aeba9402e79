#include "api/privilege.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "api/context.h"
#include "api/inherited.h"

namespace mrc::api {

namespace {

// libcap would do the same.
bool has_net_admin() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return (data[CAP_NET_ADMIN / 32].effective >> (CAP_NET_ADMIN % 32) & 1) != 0;
}

std::optional<gid_t> group_id(const std::string& name) {
  unsigned number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) return number;
  group entry;
  group* found = nullptr;
  std::vector<char> buffer(4096);
  int error;
  while ((error = ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) == ERANGE)
    buffer.resize(buffer.size() * 2);
  if (error != 0 || found == nullptr) return std::nullopt;
  return found->gr_gid;
}

bool is_member(gid_t group) {
  if (::getegid() == group) return true;
  std::vector<gid_t> groups(static_cast<size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int n = ::getgroups(static_cast<int>(groups.size()), groups.data());
  return n > 0 && std::find(groups.begin(), groups.begin() + n, group) != groups.begin() + n;
}

}  // namespace

bool may_control(const mrc_context* context) {
  if (inherited(context)) return false;  // the device is the parent's [API-FRK-1]
  if (has_net_admin()) return true;
  const std::string& name = context->device().config().settings.ctl_group;
  if (name.empty()) return false;
  const std::optional<gid_t> group = group_id(name);
  return group && is_member(*group);
}

}  // namespace mrc::api
