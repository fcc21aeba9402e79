#include "device/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/nearest.h"
#include "datapath/fault.h"
#include "device/interfaces.h"

namespace mrc::device {

namespace {

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  using Handler = std::function<Status(const std::string& key, const YAML::Node& value)>;

  // Calls the handler for every key that is in `known` or, when `settings` is given, sets the setting of that name.
  Status map(const YAML::Node& node, const std::string& what, const std::vector<std::string>& known, Settings* settings,
             const Handler& handler) const {
    if (!node.IsMap()) return refuse(node, what, "allowed: a map of " + list(known));
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return refuse(entry.first, what, "a key must be a word");
      const std::string key = entry.first.Scalar();
      if (!seen.insert(key).second) return at(entry.first, "key '" + key + "' is given twice");
      if (std::find(known.begin(), known.end(), key) != known.end()) {
        if (Status handled = handler(key, entry.second); !handled) return handled;
        continue;
      }
      const Setting* setting = settings != nullptr ? find_setting(key) : nullptr;
      if (setting == nullptr) return unknown(entry.first, key, known, settings != nullptr);
      if (!entry.second.IsScalar()) return refuse(entry.second, key, "allowed: " + setting->allowed());
      if (Status applied = apply_setting(*setting, entry.second.Scalar(), settings); !applied)
        return refuse(entry.second, key, applied.error().text);
      settings->origins[key] = where(entry.second) + ": key '" + key + "'";
    }
    return {};
  }

  Status sequence(const YAML::Node& node, const std::string& key,
                  const std::function<Status(const YAML::Node&)>& each) const {
    if (!node.IsSequence()) return refuse(node, key, "allowed: a list");
    for (const YAML::Node& item : node)
      if (Status taken = each(item); !taken) return taken;
    return {};
  }

  // The value of a key, into *out; these are handlers' last statements.
  Status text(const YAML::Node& node, const std::string& key, std::string* out) const {
    if (!node.IsScalar() || node.Scalar().empty()) return refuse(node, key, "allowed: text");
    *out = node.Scalar();
    return {};
  }

  Status address(const YAML::Node& node, const std::string& key, IpAddress* out) const {
    if (node.IsScalar() && IpAddress::parse(node.Scalar(), out)) return {};
    return refuse(node, key, value_is(node) + "allowed: an IPv6 or IPv4 address");
  }

  Status flag(const YAML::Node& node, const std::string& key, bool* out) const {
    if (!node.IsScalar() || (node.Scalar() != "true" && node.Scalar() != "false"))
      return refuse(node, key, value_is(node) + "allowed: true or false");
    *out = node.Scalar() == "true";
    return {};
  }

  Status port(const YAML::Node& node, const std::string& key, uint16_t* out) const {
    Settings scratch;
    if (!node.IsScalar()) return refuse(node, key, "allowed: 1..65535");
    if (Status set = set_setting(*find_setting("port"), node.Scalar(), &scratch); !set)
      return refuse(node, key, set.error().text);
    *out = static_cast<uint16_t>(scratch.port);
    return {};
  }

  Error refuse(const YAML::Node& node, const std::string& key, const std::string& why) const {
    return at(node, "key '" + key + "': " + why);
  }
  static std::string value_is(const YAML::Node& node) {
    return node.IsScalar() ? "value is '" + node.Scalar() + "', " : "";
  }

 private:
  Error at(const YAML::Node& node, const std::string& text) const { return invalid(where(node) + ": " + text); }
  std::string where(const YAML::Node& node) const { return file_ + ":" + std::to_string(node.Mark().line + 1); }
  static std::string list(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
  }
  Error unknown(const YAML::Node& node, const std::string& key, const std::vector<std::string>& known,
                bool settings) const {
    if (settings)
      for (const FormerSetting& former : former_settings())
        if (key == former.name) return at(node, "key '" + key + "' has been replaced by " + former.now);
    std::vector<std::string> candidates = known;
    if (settings)
      for (const Setting& s : setting_table()) candidates.push_back(s.name);
    const std::string meant = nearest(key, candidates);
    return at(node, "unknown key '" + key + "'" + (meant.empty() ? "." : ", did you mean '" + meant + "'?") +
                        " Allowed: " + list(known) +
                        (settings ? " and the settings that mrc-info --params lists" : ""));
  }

  const std::string& file_;
};

Status read_plane(const Reader& r, const YAML::Node& node, PlaneConfig* plane) {
  bool have_address = false;
  Status read = r.map(node, "planes", {"address", "interface", "port", "bind"}, nullptr,
                      [&](const std::string& key, const YAML::Node& value) {
                        if (key == "interface") return r.text(value, key, &plane->interface);
                        if (key == "port") return r.port(value, key, &plane->port);
                        if (key == "bind") return r.flag(value, key, &plane->bind_interface);
                        have_address = true;
                        return r.address(value, key, &plane->addr);
                      });
  if (!read) return read;
  if (plane->interface.empty()) {
    if (!have_address) return r.refuse(node, "planes", "a plane needs an address or an interface");
    if (plane->bind_interface || plane->addr.is_link_local())
      return r.refuse(node, "planes", "bind and link-local addresses need an interface");
    return {};
  }
  if (!have_address && !address_of_interface(plane->interface, &plane->addr))
    return r.refuse(node["interface"], "interface",
                    "value is '" + plane->interface + "', allowed: interfaces with an address: " + interface_names());
  if (plane->addr.is_link_local()) plane->bind_interface = true;
  return {};
}

Status read_peer(const Reader& r, const YAML::Node& node, PeerConfig* peer) {
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

Status read_peers(const Reader& r, const YAML::Node& node, DeviceConfig* device, bool* learn_given) {
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

Status read_name(const Reader& r, const YAML::Node& node, const std::string& key, DeviceConfig* device) {
  if (Status read = r.text(node, key, &device->name); !read) return read;
  if (device->name.size() > kMaxDeviceName)
    return r.refuse(node, key,
                    Reader::value_is(node) + "allowed: 1 to " + std::to_string(kMaxDeviceName) + " characters");
  return {};
}

Status read_device(const Reader& r, const YAML::Node& node, DeviceConfig* device) {
  YAML::Node peers;
  bool learn_given = false;
  Status read = r.map(node, "devices", {"name", "gids", "planes", "peers"}, &device->settings,
                      [&](const std::string& key, const YAML::Node& value) {
                        if (key == "name") return read_name(r, value, key, device);
                        if (key == "gids")
                          return r.sequence(value, key, [&](const YAML::Node& item) {
                            device->gids.emplace_back();
                            return r.address(item, key, &device->gids.back());
                          });
                        if (key == "planes")
                          return r.sequence(value, key, [&](const YAML::Node& item) {
                            device->planes.emplace_back();
                            return read_plane(r, item, &device->planes.back());
                          });
                        peers = value;
                        return read_peers(r, value, device, &learn_given);
                      });
  if (!read) return read;
  if (device->planes.empty() || device->planes.size() > kMaxPlanes)
    return r.refuse(node, "planes",
                    "device '" + device->name + "' has " + std::to_string(device->planes.size()) +
                        " planes, allowed: 1.." + std::to_string(kMaxPlanes));
  if (!learn_given) device->learn_peers = device->peer_template.empty() && device->peers.empty();
  for (const PeerConfig& peer : device->peers)
    if (peer.planes.size() > device->planes.size())
      return r.refuse(peers, "peers", "peer " + peer.gid.to_string() + " has more planes than the device");
  return {};
}

}  // namespace

Status apply_setting(const Setting& setting, const std::string& text, Settings* settings) {
  if (setting.text_value == &Settings::fault && !text.empty())
    if (const auto plan = datapath::parse_fault(text); !plan)
      return invalid("value is '" + text + "': " + plan.error().text);
  return set_setting(setting, text, settings);
}

Status read_config_file(const std::string& text, const std::string& file, Settings* common, Config* out) {
  const Reader reader(file);
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) return {};
    YAML::Node devices;
    Status read = reader.map(root, "file", {"devices"}, common, [&](const std::string&, const YAML::Node& value) {
      devices = value;  // after all common settings, which may follow below
      return Status();
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
  } catch (const YAML::Exception& e) {
    return invalid(file + ":" + std::to_string(e.mark.line + 1) + ": " + e.msg);
  }
}

}  // namespace mrc::device
