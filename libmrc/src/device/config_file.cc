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
  Reader(const std::string& file, std::string* error) : file_(file), error_(error) {}

  using Handler = std::function<bool(const std::string& key, const YAML::Node& value)>;

  // Calls the handler for every key that is in `known` or, when `settings` is given, sets the setting of that name.
  bool map(const YAML::Node& node, const std::string& what, const std::vector<std::string>& known, Settings* settings,
           const Handler& handler) {
    if (!node.IsMap()) return refuse(node, what, "allowed: a map of " + list(known));
    std::set<std::string> seen;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return refuse(entry.first, what, "a key must be a word");
      const std::string key = entry.first.Scalar();
      if (!seen.insert(key).second) return at(entry.first, "key '" + key + "' is given twice");
      if (std::find(known.begin(), known.end(), key) != known.end()) {
        if (!handler(key, entry.second)) return false;
        continue;
      }
      const Setting* setting = settings != nullptr ? find_setting(key) : nullptr;
      if (setting == nullptr) return unknown(entry.first, key, known, settings != nullptr);
      std::string why;
      if (!entry.second.IsScalar()) return refuse(entry.second, key, "allowed: " + setting->allowed());
      if (!apply_setting(*setting, entry.second.Scalar(), settings, &why)) return refuse(entry.second, key, why);
      settings->origins[key] = where(entry.second) + ": key '" + key + "'";
    }
    return true;
  }

  bool sequence(const YAML::Node& node, const std::string& key, const std::function<bool(const YAML::Node&)>& each) {
    if (!node.IsSequence()) return refuse(node, key, "allowed: a list");
    for (const YAML::Node& item : node)
      if (!each(item)) return false;
    return true;
  }

  bool text(const YAML::Node& node, const std::string& key, std::string* out) {
    if (!node.IsScalar() || node.Scalar().empty()) return refuse(node, key, "allowed: text");
    *out = node.Scalar();
    return true;
  }

  bool address(const YAML::Node& node, const std::string& key, IpAddress* out) {
    if (node.IsScalar() && IpAddress::parse(node.Scalar(), out)) return true;
    return refuse(node, key, value_is(node) + "allowed: an IPv6 or IPv4 address");
  }

  bool flag(const YAML::Node& node, const std::string& key, bool* out) {
    if (node.IsScalar() && (node.Scalar() == "true" || node.Scalar() == "false")) {
      *out = node.Scalar() == "true";
      return true;
    }
    return refuse(node, key, value_is(node) + "allowed: true or false");
  }

  bool port(const YAML::Node& node, const std::string& key, uint16_t* out) {
    Settings scratch;
    std::string why;
    if (!node.IsScalar()) return refuse(node, key, "allowed: 1..65535");
    if (!set_setting(*find_setting("port"), node.Scalar(), &scratch, &why)) return refuse(node, key, why);
    *out = static_cast<uint16_t>(scratch.port);
    return true;
  }

  bool refuse(const YAML::Node& node, const std::string& key, const std::string& why) {
    return at(node, "key '" + key + "': " + why);
  }
  static std::string value_is(const YAML::Node& node) {
    return node.IsScalar() ? "value is '" + node.Scalar() + "', " : "";
  }

 private:
  bool at(const YAML::Node& node, const std::string& text) {
    *error_ = where(node) + ": " + text;
    return false;
  }
  std::string where(const YAML::Node& node) const { return file_ + ":" + std::to_string(node.Mark().line + 1); }
  static std::string list(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
  }
  bool unknown(const YAML::Node& node, const std::string& key, const std::vector<std::string>& known, bool settings) {
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
  std::string* error_;
};

bool read_plane(Reader* r, const YAML::Node& node, PlaneConfig* plane) {
  bool have_address = false;
  if (!r->map(node, "planes", {"address", "interface", "port", "bind"}, nullptr,
              [&](const std::string& key, const YAML::Node& value) {
                if (key == "interface") return r->text(value, key, &plane->interface);
                if (key == "port") return r->port(value, key, &plane->port);
                if (key == "bind") return r->flag(value, key, &plane->bind_interface);
                have_address = true;
                return r->address(value, key, &plane->addr);
              }))
    return false;
  if (plane->interface.empty()) {
    if (!have_address) return r->refuse(node, "planes", "a plane needs an address or an interface");
    if (plane->bind_interface || plane->addr.is_link_local())
      return r->refuse(node, "planes", "bind and link-local addresses need an interface");
    return true;
  }
  if (!have_address && !address_of_interface(plane->interface, &plane->addr))
    return r->refuse(node["interface"], "interface",
                     "value is '" + plane->interface + "', allowed: interfaces with an address: " + interface_names());
  if (plane->addr.is_link_local()) plane->bind_interface = true;
  return true;
}

bool read_peer(Reader* r, const YAML::Node& node, PeerConfig* peer) {
  bool have_gid = false;
  if (!r->map(node, "list", {"gid", "nic", "planes"}, nullptr, [&](const std::string& key, const YAML::Node& value) {
        if (key == "nic") return r->flag(value, key, &peer->nic);
        if (key == "gid") {
          have_gid = true;
          return r->address(value, key, &peer->gid);
        }
        return r->sequence(value, key, [&](const YAML::Node& item) {
          peer->planes.emplace_back();
          return r->address(item, key, &peer->planes.back());
        });
      }))
    return false;
  return have_gid || r->refuse(node, "list", "a peer needs a gid");
}

bool read_device(Reader* r, const YAML::Node& node, DeviceConfig* device) {
  YAML::Node peers;
  bool learn_given = false;
  if (!r->map(node, "devices", {"name", "gids", "planes", "peers"}, &device->settings,
              [&](const std::string& key, const YAML::Node& value) {
                if (key == "name") {
                  if (!r->text(value, key, &device->name)) return false;
                  return device->name.size() <= kMaxDeviceName ||
                         r->refuse(value, key,
                                   Reader::value_is(value) + "allowed: 1 to " + std::to_string(kMaxDeviceName) +
                                       " characters");
                }
                if (key == "gids")
                  return r->sequence(value, key, [&](const YAML::Node& item) {
                    device->gids.emplace_back();
                    return r->address(item, key, &device->gids.back());
                  });
                if (key == "planes")
                  return r->sequence(value, key, [&](const YAML::Node& item) {
                    device->planes.emplace_back();
                    return read_plane(r, item, &device->planes.back());
                  });
                peers = value;
                return r->map(value, key, {"template", "list", "learn", "nic"}, nullptr,
                              [&](const std::string& inner, const YAML::Node& part) {
                                if (inner == "nic") return r->flag(part, inner, &device->peers_are_nics);
                                if (inner == "learn") {
                                  learn_given = true;
                                  return r->flag(part, inner, &device->learn_peers);
                                }
                                if (inner == "list")
                                  return r->sequence(part, inner, [&](const YAML::Node& item) {
                                    device->peers.emplace_back();
                                    return read_peer(r, item, &device->peers.back());
                                  });
                                std::string text, why;
                                if (!r->text(part, inner, &text)) return false;
                                return AddressTemplate::parse(text, &device->peer_template, &why) ||
                                       r->refuse(part, inner, "value is '" + text + "': " + why);
                              });
              }))
    return false;
  if (device->planes.empty() || device->planes.size() > kMaxPlanes)
    return r->refuse(node, "planes",
                     "device '" + device->name + "' has " + std::to_string(device->planes.size()) +
                         " planes, allowed: 1.." + std::to_string(kMaxPlanes));
  if (!learn_given) device->learn_peers = device->peer_template.empty() && device->peers.empty();
  for (const PeerConfig& peer : device->peers)
    if (peer.planes.size() > device->planes.size())
      return r->refuse(peers, "peers", "peer " + peer.gid.to_string() + " has more planes than the device");
  return true;
}

}  // namespace

bool apply_setting(const Setting& setting, const std::string& text, Settings* settings, std::string* why) {
  if (setting.text_value == &Settings::fault && !text.empty()) {
    std::string reason;
    if (datapath::parse_fault(text, &reason) == nullptr) {
      *why = "value is '" + text + "': " + reason;
      return false;
    }
  }
  return set_setting(setting, text, settings, why);
}

bool read_config_file(const std::string& text, const std::string& file, Settings* common, Config* out,
                      std::string* error) {
  Reader reader(file, error);
  try {
    const YAML::Node root = YAML::Load(text);
    if (root.IsNull()) return true;
    YAML::Node devices;
    if (!reader.map(root, "file", {"devices"}, common, [&](const std::string&, const YAML::Node& value) {
          devices = value;  // after all common settings, which may follow below
          return true;
        }))
      return false;
    if (!devices.IsDefined() || devices.IsNull()) return true;
    std::set<std::string> names;
    return reader.sequence(devices, "devices", [&](const YAML::Node& node) {
      DeviceConfig device;
      device.name = "mrc" + std::to_string(out->devices.size());
      device.settings = *common;
      if (!read_device(&reader, node, &device)) return false;
      if (!names.insert(device.name).second)
        return reader.refuse(node, "name", "two devices have the name '" + device.name + "'");
      out->devices.push_back(std::move(device));
      return true;
    });
  } catch (const YAML::Exception& e) {
    *error = file + ":" + std::to_string(e.mark.line + 1) + ": " + e.msg;
    return false;
  }
}

}  // namespace mrc::device
