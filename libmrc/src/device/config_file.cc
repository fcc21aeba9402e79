#include "device/config_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "datapath/fault.h"
#include "device/interfaces.h"
#include "device/yaml_reader.h"

namespace mrc::device {

namespace {

Status read_own_address(const YamlReader& r, const YAML::Node& node, const std::string& key, IpAddress* out) {
  if (Status read = r.address(node, key, out); !read) return read;
  if (out->is_unicast()) return {};
  return r.refuse(node, key, "value is '" + node.Scalar() + "', allowed: a unicast address of this host");
}

// "::" keeps an index of the table without a GID.
Status read_gid(const YamlReader& r, const YAML::Node& node, const std::string& key, IpAddress* out) {
  if (Status read = r.address(node, key, out); !read) return read;
  if (out->is_unicast() || out->is_zero()) return {};
  return r.refuse(node, key, "value is '" + node.Scalar() + "', allowed: a unicast address, or :: for none");
}

Status read_plane(const YamlReader& r, const YAML::Node& node, PlaneConfig* plane) {
  bool have_address = false;
  Status read = r.map(node, "planes", {"address", "interface", "port", "bind"}, nullptr,
                      [&](const std::string& key, const YAML::Node& value) {
                        if (key == "interface") return r.text(value, key, &plane->interface);
                        if (key == "port") return r.port(value, key, &plane->port);
                        if (key == "bind") return r.flag(value, key, &plane->bind_interface);
                        have_address = true;
                        return read_own_address(r, value, key, &plane->addr);
                      });
  if (!read) return read;
  if (plane->interface.empty()) {
    if (!have_address) return r.refuse(node, "planes", "a plane needs an address or an interface");
    if (plane->bind_interface || plane->addr.is_link_local())
      return r.refuse(node, "planes", "bind and link-local addresses need an interface");
    return {};
  }
  if (!have_address) {
    // Zero without one: the plane begins closed, and joins when the interface has an address.
    plane->addr = address_of_interface(plane->interface).value_or(IpAddress());
  }
  if (plane->addr.is_link_local()) plane->bind_interface = true;
  return {};
}

Status read_peer(const YamlReader& r, const YAML::Node& node, PeerConfig* peer) {
  bool have_gid = false;
  Status read =
      r.map(node, "list", {"gid", "nic", "planes"}, nullptr, [&](const std::string& key, const YAML::Node& value) {
        if (key == "nic") return r.flag(value, key, &peer->nic);
        if (key == "gid") {
          have_gid = true;
          return r.address(value, key, &peer->gid);
        }
        return r.sequence(value, key, [&](const YAML::Node& item) {
          peer->planes.emplace_back();
          return r.address(item, key, &peer->planes.back());
        });
      });
  if (!read) return read;
  if (!have_gid) return r.refuse(node, "list", "a peer needs a gid");
  return {};
}

Status read_peers(const YamlReader& r, const YAML::Node& node, DeviceConfig* device, bool* learn_given) {
  return r.map(node, "peers", {"template", "list", "learn", "nic"}, nullptr,
               [&](const std::string& key, const YAML::Node& value) -> Status {
                 if (key == "nic") return r.flag(value, key, &device->peers_are_nics);
                 if (key == "learn") {
                   *learn_given = true;
                   return r.flag(value, key, &device->learn_peers);
                 }
                 if (key == "list")
                   return r.sequence(value, key, [&](const YAML::Node& item) {
                     device->peers.emplace_back();
                     return read_peer(r, item, &device->peers.back());
                   });
                 std::string text;
                 if (Status read = r.text(value, key, &text); !read) return read;
                 Result<AddressTemplate> parsed = AddressTemplate::parse(text);
                 if (!parsed) return r.refuse(value, key, "value is '" + text + "': " + parsed.error().text);
                 device->peer_template = *std::move(parsed);
                 return {};
               });
}

Status read_name(const YamlReader& r, const YAML::Node& node, const std::string& key, DeviceConfig* device) {
  if (Status read = r.text(node, key, &device->name); !read) return read;
  if (device->name.size() > kMaxDeviceName)
    return r.refuse(node, key,
                    YamlReader::value_is(node) + "allowed: 1 to " + std::to_string(kMaxDeviceName) + " characters");
  return {};
}

// Only mrcd checks its settings, so that its table need not be here. [MRC-MRCD-8]
Status check_section(const YamlReader& r, const YAML::Node& node) {
  if (node.IsMap() || node.IsNull()) return {};
  return r.refuse(node, kDaemonSection, "allowed: a map of mrcd's settings, which mrcd --help lists");
}

Status read_device(const YamlReader& r, const YAML::Node& node, DeviceConfig* device) {
  YAML::Node peers, planes;
  bool learn_given = false;
  const SettingKeys settings = setting_keys(&device->settings);
  Status read = r.map(node, "devices", {"name", "gids", "planes", "peers", kDaemonSection}, &settings,
                      [&](const std::string& key, const YAML::Node& value) {
                        if (key == kDaemonSection) return check_section(r, value);
                        if (key == "name") return read_name(r, value, key, device);
                        if (key == "gids")
                          return r.sequence(value, key, [&](const YAML::Node& item) {
                            device->gids.emplace_back();
                            return read_gid(r, item, key, &device->gids.back());
                          });
                        if (key == "planes") {
                          planes.reset(value);
                          return r.sequence(value, key, [&](const YAML::Node& item) {
                            device->planes.emplace_back();
                            return read_plane(r, item, &device->planes.back());
                          });
                        }
                        peers = value;
                        return read_peers(r, value, device, &learn_given);
                      });
  if (!read) return read;
  if (device->planes.empty() || device->planes.size() > PlaneSet::kMaxPlanes)
    return r.refuse(node, "planes",
                    "device '" + device->name + "' has " + std::to_string(device->planes.size()) +
                        " planes, allowed: 1.." + std::to_string(PlaneSet::kMaxPlanes));
  if (std::all_of(device->planes.begin(), device->planes.end(), [](const PlaneConfig& p) { return p.addr.is_zero(); }))
    return r.refuse(
        planes[0]["interface"], "interface",
        YamlReader::value_is(planes[0]["interface"]) + "allowed: interfaces with an address: " + interface_names());
  if (!learn_given) device->learn_peers = device->peer_template.empty() && device->peers.empty();
  for (const PeerConfig& peer : device->peers)
    if (peer.planes.size() > device->planes.size())
      return r.refuse(peers, "peers", "peer " + peer.gid.to_string() + " has more planes than the device");
  return {};
}

}  // namespace

SettingKeys setting_keys(Settings* settings) {
  SettingKeys keys = keys_of(setting_table(), settings);
  keys.former = &former_settings();
  keys.listed_by = "mrc-info --params";
  keys.set = [set = std::move(keys.set)](const SettingRow& row, const std::string& text,
                                         const std::string& origin) -> Status {
    if (&row == find_setting("fault") && !text.empty())
      if (const auto plan = datapath::parse_fault(text); !plan)
        return invalid("value is '" + text + "': " + plan.error().text);
    return set(row, text, origin);
  };
  return keys;
}

Status read_config_file(const std::string& text, const std::string& file, Settings* common, Config* out) {
  const YamlReader reader(file);
  return reader.document(text, [&](const YAML::Node& root) -> Status {
    if (root.IsNull()) return {};
    YAML::Node devices;
    const SettingKeys settings = setting_keys(common);
    Status read = reader.map(root, "file", {"devices", kDaemonSection}, &settings,
                             [&](const std::string& key, const YAML::Node& value) -> Status {
                               if (key == kDaemonSection) return check_section(reader, value);
                               devices = value;  // after all common settings, which may follow below
                               return {};
                             });
    if (!read) return read;
    if (!devices.IsDefined() || devices.IsNull()) return {};
    std::set<std::string> names;
    return reader.sequence(devices, "devices", [&](const YAML::Node& node) -> Status {
      DeviceConfig device;
      device.name = "mrc" + std::to_string(out->devices.size());
      device.settings = *common;
      if (Status taken = read_device(reader, node, &device); !taken) return taken;
      if (!names.insert(device.name).second)
        return reader.refuse(node, "name", "two devices have the name '" + device.name + "'");
      out->devices.push_back(std::move(device));
      return {};
    });
  });
}

}  // namespace mrc::device
