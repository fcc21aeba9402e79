#include "device/config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "device/config_file.h"
#include "device/interfaces.h"

namespace mrc::device {

namespace {

constexpr const char* kSystemFile = "/etc/mrc/mrc.yaml";
constexpr uint32_t kLoopbackPlanes = 4;
constexpr uint32_t kLastSlot = 255;

bool apply_environment(GetEnv env, Settings* settings, std::string* error) {
  for (const Setting& setting : setting_table()) {
    const char* value = env(setting.environment.c_str());
    std::string why;
    if (value == nullptr || apply_setting(setting, value, settings, &why)) continue;
    *error = "environment: " + setting.environment + ": " + why;
    return false;
  }
  return true;
}

// A GID table that programs with a fixed index are content with: entries 0, 1 and 3 usable (clients.md, device
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

// Planes that share an address need ports of their own; a plane with an address of its own uses the standard port.
bool fill_ports(DeviceConfig* device, std::string* error) {
  std::vector<PlaneConfig>& planes = device->planes;
  const auto count = static_cast<uint32_t>(planes.size());
  const auto base = static_cast<uint32_t>(device->settings.port_base);
  const uint32_t most = 65535 - kLastSlot - (count - 1) * kSlotsPerPlane;
  if (base > most) {
    *error = "device '" + device->name + "': port_base: value is '" + std::to_string(base) + "', allowed with " +
             std::to_string(count) + " planes: 1024.." + std::to_string(most);
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

void fill_line_rate(DeviceConfig* device) {
  device->line_rate_gbps = device->settings.line_rate_gbps;
  if (device->line_rate_gbps > 0) return;
  double sum = 0;
  for (const PlaneConfig& plane : device->planes) {
    const double card = card_speed_gbps(plane.interface.empty() ? interface_of_address(plane.addr) : plane.interface);
    if (card == 0) return;
    sum += card;
  }
  device->line_rate_gbps = sum;
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
    if (!fill_ports(&device, error)) return false;
  }
  return true;
}

}  // namespace

bool DeviceConfig::is_own_gid(const IpAddress& gid) const {
  return !gid.is_zero() && std::find(gids.begin(), gids.end(), gid) != gids.end();
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
  std::string too_high;  // whoever loads a configuration asks again and reports it
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
