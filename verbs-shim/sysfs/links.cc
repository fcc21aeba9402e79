#include "sysfs/links.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "cm/ip_bytes.h"
#include "provider/provider.h"

namespace mrc::shim {

namespace {

using Gid = union ibv_gid;

bool has_address(const ifaddrs& entry, const Gid& gid) {
  if (entry.ifa_addr == nullptr) return false;
  if (entry.ifa_addr->sa_family == AF_INET6)
    return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr, gid.raw, sizeof gid.raw) == 0;
  return entry.ifa_addr->sa_family == AF_INET && is_mapped(gid.raw) &&
         std::memcmp(&reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr, gid.raw + kMappedPrefix.size(),
                     4) == 0;
}

std::string interface_with(const Gid& gid) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return "";
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next)
    if (has_address(*entry, gid)) return entry->ifa_name;
  return "";
}

Gid gid_of(const std::string& address) {
  Gid gid{};
  if (inet_pton(AF_INET6, address.c_str(), gid.raw) == 1) return gid;
  gid.raw[10] = gid.raw[11] = 0xFF;
  inet_pton(AF_INET, address.c_str(), gid.raw + 12);
  return gid;
}

}  // namespace

Links links_of(ibv_context* soft) {
  Links links;
  const auto describe = provider()->mrc_soft_describe_device;
  const int size = describe != nullptr ? describe(soft, nullptr, 0) : -1;
  if (size <= 0) return links;
  std::string text(static_cast<size_t>(size) + 1, '\0');
  describe(soft, text.data(), text.size());
  const nlohmann::json device = nlohmann::json::parse(text.c_str(), nullptr, false);
  if (!device.is_object()) return links;
  links.gbps = device.value("line_rate_gbps", 0.0);
  for (const nlohmann::json& plane : device.value("planes", nlohmann::json::array())) {
    const std::string named = plane.value("interface", "");
    links.interfaces.push_back(named.empty() ? interface_with(gid_of(plane.value("address", ""))) : named);
  }
  return links;
}

std::string interface_of(const Gid& gid, const Links& links) {
  const std::string found = interface_with(gid);
  return !found.empty() || links.interfaces.empty() ? found : links.interfaces.front();
}

std::string hardware_of(const Links& links, const std::string& sysfs) {
  for (const std::string& interface : links.interfaces) {
    char found[PATH_MAX];
    if (interface.empty() || realpath((sysfs + "/" + interface + "/device").c_str(), found) == nullptr) continue;
    for (std::string path = found; path.size() > 1; path.erase(path.rfind('/')))
      if (access((path + "/numa_node").c_str(), F_OK) == 0) return path;
    return found;
  }
  return "";
}

}  // namespace mrc::shim
