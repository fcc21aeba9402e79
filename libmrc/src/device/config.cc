#include "device/config.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "core/congestion/registry.h"
#include "datapath/frame/gateway.h"
#include "datapath/port_range.h"
#include "device/auto_planes.h"
#include "device/config_file.h"
#include "device/fault_scope.h"
#include "device/host_identity.h"
#include "device/interfaces.h"
#include "device/srv6.h"
#include "text_file.h"

namespace mrc::device {

namespace {

constexpr const char* kSystemFile = "/etc/mrc/mrc.yaml";
constexpr uint32_t kLoopbackPlanes = 4;
constexpr uint32_t kLastSlot = 255;

// Of plane 1, or of the first plane that has one.
IpAddress known_address(const std::vector<PlaneConfig>& planes) {
  const auto known =
      std::find_if(planes.begin(), planes.end(), [](const PlaneConfig& plane) { return !plane.addr.is_zero(); });
  return known != planes.end() ? known->addr : IpAddress();
}

// A GID table for programs with a fixed index: entries 0, 1 and 3 usable (spec/clients.md, device
// attributes).
void fill_gids(DeviceConfig* device) {
  std::vector<IpAddress>& gids = device->gids;
  if (gids.empty()) gids.push_back(known_address(device->planes));
  if (gids.size() == 1) gids.push_back(gids[0]);
  const auto v4 = std::find_if(gids.begin(), gids.end(), [](const IpAddress& gid) { return gid.is_v4(); });
  const IpAddress fourth = v4 != gids.end() ? *v4 : gids[0];
  if (gids.size() == 2) gids.emplace_back();
  if (gids.size() == 3) gids.push_back(fourth);
}

// Planes that share an address require separate ports; a plane with an address of its own uses the standard port.
Status fill_ports(DeviceConfig* device) {
  std::vector<PlaneConfig>& planes = device->planes;
  const auto count = static_cast<uint32_t>(planes.size());
  const auto base = static_cast<uint32_t>(device->settings.port_base);
  const uint32_t max = 65535 - kLastSlot - (count - 1) * kSlotsPerPlane;
  if (base > max)
    return invalid("device '" + device->name + "': port_base: value is '" + std::to_string(base) + "', allowed with " +
                   std::to_string(count) + " planes: 1024.." + std::to_string(max));
  for (uint32_t p = 0; p < count; ++p) {
    planes[p].port_base = static_cast<uint16_t>(base + p * kSlotsPerPlane);
    const bool shared = std::any_of(planes.begin(), planes.begin() + p, [&](const PlaneConfig& other) {
      return other.addr == planes[p].addr && !other.addr.is_zero();
    });
    if (planes[p].port == 0)
      planes[p].port = shared ? planes[p].port_base : static_cast<uint16_t>(device->settings.port);
    for (uint32_t q = 0; q < p; ++q)
      if (planes[q].addr == planes[p].addr && planes[q].port == planes[p].port && !planes[p].addr.is_zero())
        return invalid("device '" + device->name + "': planes " + std::to_string(q + 1) + " and " +
                       std::to_string(p + 1) + " have the same address and port");
  }
  return {};
}

std::string origin_of(const DeviceConfig& device, const std::string& name) {
  const auto set = device.settings.origins.find(name);
  return (set != device.settings.origins.end() ? set->second : "device '" + device.name + "': " + name) + ": ";
}

// A plane without an entropy value would never carry a packet.
Status check_ev_count(const DeviceConfig& device) {
  const Setting& setting = *find_setting("ev_count");
  const size_t planes = device.planes.size();
  if (static_cast<size_t>(device.settings.ev_count) >= planes) return {};
  return invalid(origin_of(device, setting.name) + "value is '" + setting.show(device.settings) + "', allowed with " +
                 std::to_string(planes) + " planes: " + std::to_string(planes) + ".." +
                 std::to_string(setting.int_max) + " " + setting.unit);
}

// Every path would count as good permanently.
Status check_min_active(const DeviceConfig& device) {
  const Setting& setting = *find_setting("ev_min_active");
  if (device.settings.ev_min_active <= device.settings.ev_count) return {};
  return invalid(origin_of(device, setting.name) + "value is '" + setting.show(device.settings) +
                 "', allowed with ev_count " + std::to_string(device.settings.ev_count) + ": 0.." +
                 std::to_string(device.settings.ev_count) + " " + setting.unit);
}

// Receivers recognise a trimmed packet by its DSCP alone, and switches a trimmable one. So these three groups must not
// overlap; within a group equal numbers are the deployment's choice [MRC-DSCP-1].
Status check_dscps(const DeviceConfig& device) {
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
          return invalid(origin_of(device, wrong) + "value is '" + std::to_string(value(wrong)) + "', which " + other +
                         " has, too: the two kinds of packets could not be told apart");
        }
  return {};
}

Status check_ipv6(const DeviceConfig& device, const char* setting) {
  for (size_t p = 0; p < device.planes.size(); ++p)
    if (device.planes[p].addr.is_v4())
      return invalid(origin_of(device, setting) + "value is '" + find_setting(setting)->show(device.settings) +
                     "', but plane " + std::to_string(p + 1) + " has the IPv4 address " +
                     device.planes[p].addr.to_string());
  return {};
}

// Every plane has a DPDK port and a gateway that is one.
Status check_dpdk(const DeviceConfig& device) {
  if (Status ipv6 = check_ipv6(device, "datapath"); !ipv6) return ipv6;
  const size_t ports = datapath::split_list(device.settings.dpdk_ports).size();
  if (ports != device.planes.size())
    return invalid(origin_of(device, "dpdk_ports") + "value is '" + device.settings.dpdk_ports + "', which are " +
                   std::to_string(ports) + " ports for " + std::to_string(device.planes.size()) +
                   " planes: write one for each, ';' between");
  auto gateways = datapath::parse_gateways(device.settings.dpdk_gateway, static_cast<uint32_t>(ports));
  if (!gateways) return std::move(gateways).error().under(origin_of(device, "dpdk_gateway"));
  return {};
}

// What a datapath cannot do with the other settings.
Status check_datapath(const DeviceConfig& device) {
  switch (device.settings.datapath) {
    case DatapathKind::kUdp:
      return {};
    case DatapathKind::kRaw:
      return check_ipv6(device, "datapath");
    case DatapathKind::kDpdk:
      return check_dpdk(device);
  }
  return {};
}

// With ev_mode srv6 the texts that name the switches must be a plan for these planes.
Status check_srv6(const DeviceConfig& device) {
  if (device.settings.ev_mode != EvMode::kSrv6) return {};
  if (Status ipv6 = check_ipv6(device, "ev_mode"); !ipv6) return ipv6;
  const auto planes = static_cast<uint32_t>(device.planes.size());
  for (const char* name : {"srv6_paths", "srv6_loop"}) {
    Settings one = device.settings;  // the message must name the wrong setting
    (name == std::string("srv6_paths") ? one.srv6_loop : one.srv6_paths).clear();
    if (auto plan = srv6_plan(one, planes); !plan) return std::move(plan).error().under(origin_of(device, name));
  }
  return {};
}

// Encapsulation by the kernel: a source port for each path at least.
Status check_source_ports(const DeviceConfig& device) {
  const Settings& s = device.settings;
  if (s.ev_mode != EvMode::kSrv6 || s.srv6_encap == datapath::Srv6Encap::kNone) return {};
  const std::optional<datapath::PortRange> ports = datapath::parse_port_range(s.srv6_source_ports);
  const auto plan = srv6_plan(s, static_cast<uint32_t>(device.planes.size()));
  if (!plan) return plan.error();
  if (ports && ports->size() >= (*plan)->max_path_count()) return {};
  return invalid(origin_of(device, "srv6_source_ports") + "value is '" + s.srv6_source_ports +
                 "', allowed with srv6_encap kernel: FIRST-LAST, from 1024 to 65535, at least a port for each of " +
                 std::to_string((*plan)->max_path_count()) + " paths");
}

// The parameters are those of the algorithm.
Status check_congestion(const DeviceConfig& device) {
  core::CongestionConfig config;
  config.algorithm = core::find_congestion_algorithm(device.settings.congestion_control);
  Status set = core::set_congestion_parameters(device.settings.congestion_parameters, &config);
  if (!set) return std::move(set).error().under(origin_of(device, "congestion_parameters"));
  return {};
}

void fill_line_rate(DeviceConfig* device) {
  device->line_rate_gbps = device->settings.line_rate_gbps;
  if (device->line_rate_gbps == 0) device->line_rate_gbps = cards_gbps(device->planes);
}

Status finish(Config* config, const Settings& common, GetEnv env) {
  if (config->devices.empty()) {
    Settings settings = common;
    if (Status applied = read_environment(setting_keys(&settings), env); !applied) return applied;
    if (settings.interfaces.empty()) {
      config->devices.push_back(loopback_config(settings, ipv6_loopback_works()));
    } else {
      Result<DeviceConfig> made = auto_config(settings);
      if (!made) return std::move(made).error();
      config->devices.push_back(*std::move(made));
    }
  }
  for (DeviceConfig& device : config->devices) {
    if (Status applied = read_environment(setting_keys(&device.settings), env); !applied) return applied;
    fill_gids(&device);
    fill_line_rate(&device);
    if (Status filled = fill_ports(&device); !filled) return filled;
    for (const auto check : {check_ev_count, check_min_active, check_dscps, check_datapath, check_srv6,
                             check_source_ports, check_congestion})
      if (Status checked = check(device); !checked) return checked;
  }
  return check_fault(config->devices);
}

}  // namespace

bool DeviceConfig::is_own_gid(const IpAddress& gid) const {
  if (built_in && gid == IpAddress::v4(127, 0, 0, 1)) return true;
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
  const IpAddress loopback = IpAddress::parse("::1").value();
  const IpAddress loopback4 = IpAddress::v4(127, 0, 0, 1);
  device.built_in = true;
  device.gids = loopback_gids(loopback_identity());
  device.planes.resize(kLoopbackPlanes);
  for (PlaneConfig& plane : device.planes) {
    plane.addr = ipv6 ? loopback : loopback4;
    plane.interface = "lo";
  }
  (void)fill_ports(&device);  // refused again, and then reported, when a configuration is loaded
  return device;
}

Result<Config> parse_config(const std::string& text, const std::string& file, GetEnv env) {
  Config config;
  config.file = file;
  Settings common;
  if (Status read = read_config_file(text, file, &common, &config); !read) return std::move(read).error();
  if (Status finished = finish(&config, common, env); !finished) return std::move(finished).error();
  return config;
}

Result<ConfigText> read_config_text(GetEnv env) {
  const char* named = env("MRC_CONFIG");
  if (named != nullptr && *named == 0) named = nullptr;
  if (named == nullptr && ::access(kSystemFile, F_OK) != 0) return ConfigText();
  ConfigText config{named != nullptr ? named : kSystemFile, ""};
  Result<std::string> text = read_text_file(config.file);
  if (!text)
    return invalid("cannot read the configuration file " + config.file + ": " + text.error().text +
                   (named != nullptr ? " (MRC_CONFIG names it)" : ""));
  config.text = *std::move(text);
  return config;
}

Result<Config> load_config(GetEnv env) {
  const Result<ConfigText> config = read_config_text(env);
  if (!config) return config.error();
  return parse_config(config->text, config->file, env);
}

}  // namespace mrc::device
