#include "device/config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/congestion/registry.h"
#include "datapath/frame/gateway.h"
#include "device/config_file.h"
#include "device/fault_scope.h"
#include "device/interfaces.h"
#include "device/srv6.h"

namespace mrc::device {

namespace {

constexpr const char* kSystemFile = "/etc/mrc/mrc.yaml";
constexpr uint32_t kLoopbackPlanes = 4;
constexpr uint32_t kLastSlot = 255;

bool apply_environment(GetEnv env, Settings* settings, std::string* error) {
  for (const FormerSetting& former : former_settings()) {
    if (env(former.environment) == nullptr) continue;
    *error = std::string("environment: ") + former.environment + " has been replaced by " + former.now;
    return false;
  }
  for (const Setting& setting : setting_table()) {
    const char* value = env(setting.environment.c_str());
    std::string why;
    if (value == nullptr) continue;
    if (apply_setting(setting, value, settings, &why)) {
      settings->origins[setting.name] = "environment: " + setting.environment;
      continue;
    }
    *error = "environment: " + setting.environment + ": " + why;
    return false;
  }
  return true;
}

// A GID table for programs with a fixed index: entries 0, 1 and 3 usable (spec/clients.md, device
// attributes).
void fill_gids(DeviceConfig* device) {
  std::vector<IpAddress>& gids = device->gids;
  if (gids.empty()) gids.push_back(device->planes[0].addr);
  if (gids.size() == 1) gids.push_back(gids[0]);
  const auto v4 = std::find_if(gids.begin(), gids.end(), [](const IpAddress& gid) { return gid.is_v4(); });
  const IpAddress fourth = v4 != gids.end() ? *v4 : gids[0];
  if (gids.size() == 2) gids.emplace_back();
  if (gids.size() == 3) gids.push_back(fourth);
}

// Planes that share an address require separate ports; a plane with an address of its own uses the standard port.
bool fill_ports(DeviceConfig* device, std::string* error) {
  std::vector<PlaneConfig>& planes = device->planes;
  const auto count = static_cast<uint32_t>(planes.size());
  const auto base = static_cast<uint32_t>(device->settings.port_base);
  const uint32_t max = 65535 - kLastSlot - (count - 1) * kSlotsPerPlane;
  if (base > max) {
    *error = "device '" + device->name + "': port_base: value is '" + std::to_string(base) + "', allowed with " +
             std::to_string(count) + " planes: 1024.." + std::to_string(max);
    return false;
  }
  for (uint32_t p = 0; p < count; ++p) {
    planes[p].port_base = static_cast<uint16_t>(base + p * kSlotsPerPlane);
    const bool shared = std::any_of(planes.begin(), planes.begin() + p,
                                    [&](const PlaneConfig& other) { return other.addr == planes[p].addr; });
    if (planes[p].port == 0)
      planes[p].port = shared ? planes[p].port_base : static_cast<uint16_t>(device->settings.port);
    for (uint32_t q = 0; q < p; ++q)
      if (planes[q].addr == planes[p].addr && planes[q].port == planes[p].port) {
        *error = "device '" + device->name + "': planes " + std::to_string(q + 1) + " and " + std::to_string(p + 1) +
                 " have the same address and port";
        return false;
      }
  }
  return true;
}

std::string origin_of(const DeviceConfig& device, const std::string& name) {
  const auto set = device.settings.origins.find(name);
  return (set != device.settings.origins.end() ? set->second : "device '" + device.name + "': " + name) + ": ";
}

// A plane without an entropy value would never carry a packet.
bool check_ev_count(const DeviceConfig& device, std::string* error) {
  const Setting& setting = *find_setting("ev_count");
  const size_t planes = device.planes.size();
  if (static_cast<size_t>(device.settings.ev_count) >= planes) return true;
  *error = origin_of(device, setting.name) + "value is '" + setting.show(device.settings) + "', allowed with " +
           std::to_string(planes) + " planes: " + std::to_string(planes) + ".." + std::to_string(setting.int_max) +
           " " + setting.unit;
  return false;
}

// Every path would count as good permanently.
bool check_min_active(const DeviceConfig& device, std::string* error) {
  const Setting& setting = *find_setting("ev_min_active");
  if (device.settings.ev_min_active <= device.settings.ev_count) return true;
  *error = origin_of(device, setting.name) + "value is '" + setting.show(device.settings) +
           "', allowed with ev_count " + std::to_string(device.settings.ev_count) + ": 0.." +
           std::to_string(device.settings.ev_count) + " " + setting.unit;
  return false;
}

// Receivers recognise a trimmed packet by its DSCP alone, and switches a trimmable one. So these three groups must not
// overlap; within a group equal numbers are the deployment's choice [MRC-DSCP-1].
bool check_dscps(const DeviceConfig& device, std::string* error) {
  const std::vector<std::vector<const char*>> groups = {{"dscp_no_trim", "dscp_control"},
                                                        {"dscp_trimmable", "dscp_trimmable_retx"},
                                                        {"dscp_trimmed", "dscp_trimmed_lasthop"}};
  const auto value = [&](const char* name) { return device.settings.*find_setting(name)->int_value; };
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t h = g + 1; h < groups.size(); ++h)
      for (const char* first : groups[g])
        for (const char* second : groups[h]) {
          if (value(first) != value(second)) continue;
          // The message names the setting that was changed from its default.
          const bool first_was_set = device.settings.origins.count(first) != 0;
          const char* wrong = first_was_set ? first : second;
          const char* other = first_was_set ? second : first;
          *error = origin_of(device, wrong) + "value is '" + std::to_string(value(wrong)) + "', which " + other +
                   " has, too: the two kinds of packets could not be told apart";
          return false;
        }
  return true;
}

bool check_ipv6(const DeviceConfig& device, const char* setting, std::string* error) {
  for (size_t p = 0; p < device.planes.size(); ++p)
    if (device.planes[p].addr.is_v4()) {
      *error = origin_of(device, setting) + "value is '" + find_setting(setting)->show(device.settings) +
               "', but plane " + std::to_string(p + 1) + " has the IPv4 address " + device.planes[p].addr.to_string();
      return false;
    }
  return true;
}

// Every plane has a DPDK port and a gateway that is one.
bool check_dpdk(const DeviceConfig& device, std::string* error) {
  if (device.settings.datapath != "dpdk") return true;
  if (!check_ipv6(device, "datapath", error)) return false;
  const size_t ports = datapath::split_list(device.settings.dpdk_ports).size();
  if (ports != device.planes.size()) {
    *error = origin_of(device, "dpdk_ports") + "value is '" + device.settings.dpdk_ports + "', which are " +
             std::to_string(ports) + " ports for " + std::to_string(device.planes.size()) +
             " planes: write one for each, ';' between";
    return false;
  }
  std::vector<datapath::Gateway> gateways;
  std::string why;
  if (datapath::parse_gateways(device.settings.dpdk_gateway, static_cast<uint32_t>(ports), &gateways, &why))
    return true;
  *error = origin_of(device, "dpdk_gateway") + why;
  return false;
}

// With ev_mode srv6 the texts that name the switches must be a plan for these planes.
bool check_srv6(const DeviceConfig& device, std::string* error) {
  if (device.settings.datapath == "raw" && !check_ipv6(device, "datapath", error)) return false;
  if (device.settings.ev_mode != "srv6") return true;
  if (!check_ipv6(device, "ev_mode", error)) return false;
  const auto planes = static_cast<uint32_t>(device.planes.size());
  for (const char* name : {"srv6_paths", "srv6_loop"}) {
    Settings one = device.settings;  // the message must name the wrong setting
    (name == std::string("srv6_paths") ? one.srv6_loop : one.srv6_paths).clear();
    std::string why;
    if (srv6_plan(one, planes, &why) != nullptr) continue;
    *error = origin_of(device, name) + why;
    return false;
  }
  return true;
}

// The parameters are those of the algorithm.
bool check_congestion(const DeviceConfig& device, std::string* error) {
  core::CongestionConfig config;
  config.algorithm = core::find_congestion_algorithm(device.settings.congestion_control);
  std::string why;
  if (core::set_congestion_parameters(device.settings.congestion_parameters, &config, &why)) return true;
  *error = origin_of(device, "congestion_parameters") + why;
  return false;
}

void fill_line_rate(DeviceConfig* device) {
  device->line_rate_gbps = device->settings.line_rate_gbps;
  if (device->line_rate_gbps == 0) device->line_rate_gbps = cards_gbps(device->planes);
}

bool finish(Config* config, const Settings& common, GetEnv env, std::string* error) {
  if (config->devices.empty()) {
    Settings settings = common;
    if (!apply_environment(env, &settings, error)) return false;
    config->devices.push_back(loopback_config(settings, ipv6_loopback_works()));
  }
  for (DeviceConfig& device : config->devices) {
    if (!apply_environment(env, &device.settings, error)) return false;
    fill_gids(&device);
    fill_line_rate(&device);
    if (!fill_ports(&device, error) || !check_ev_count(device, error) || !check_min_active(device, error) ||
        !check_dscps(device, error) || !check_srv6(device, error) || !check_dpdk(device, error) ||
        !check_congestion(device, error))
      return false;
  }
  return check_fault(config->devices, error);
}

}  // namespace

bool DeviceConfig::is_own_gid(const IpAddress& gid) const {
  return !gid.is_zero() && std::find(gids.begin(), gids.end(), gid) != gids.end();
}

double cards_gbps(const std::vector<PlaneConfig>& planes, const std::string& sysfs) {
  double sum = 0;
  for (const PlaneConfig& plane : planes) {
    const double card =
        card_speed_gbps(plane.interface.empty() ? interface_of_address(plane.addr) : plane.interface, sysfs);
    if (card == 0) return 0;
    sum += card;
  }
  return sum;
}

DeviceConfig loopback_config(const Settings& settings, bool ipv6) {
  DeviceConfig device;
  device.settings = settings;
  IpAddress link_local, unique_local, loopback;
  IpAddress::parse("fe80::6d72:63ff:fe00:1", &link_local);
  IpAddress::parse("fd6d:7263::1", &unique_local);
  IpAddress::parse("::1", &loopback);
  const IpAddress loopback4 = IpAddress::v4(127, 0, 0, 1);
  device.gids = {link_local, unique_local, IpAddress(), loopback4};
  device.planes.resize(kLoopbackPlanes);
  for (PlaneConfig& plane : device.planes) {
    plane.addr = ipv6 ? loopback : loopback4;
    plane.interface = "lo";
  }
  std::string too_high;  // the code that loads a configuration checks again and reports it
  fill_ports(&device, &too_high);
  return device;
}

bool parse_config(const std::string& text, const std::string& file, GetEnv env, Config* out, std::string* error) {
  *out = Config();
  out->file = file;
  Settings common;
  return read_config_file(text, file, &common, out, error) && finish(out, common, env, error);
}

bool load_config(GetEnv env, Config* out, std::string* error) {
  const char* named = env("MRC_CONFIG");
  if (named != nullptr && *named == 0) named = nullptr;
  const std::string file = named != nullptr ? named : kSystemFile;
  if (named == nullptr && ::access(kSystemFile, F_OK) != 0) {
    *out = Config();
    return finish(out, Settings(), env, error);
  }
  errno = 0;
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad() || errno == EISDIR) {
    *error = "cannot read the configuration file " + file + ": " + std::strerror(errno) +
             (named != nullptr ? " (MRC_CONFIG names it)" : "");
    return false;
  }
  return parse_config(text, file, env, out, error);
}

}  // namespace mrc::device
