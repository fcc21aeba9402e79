#include "sysfs/tree.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "objects/device.h"
#include "sysfs/device_files.h"
#include "sysfs/path_parts.h"

namespace mrc::shim {

namespace {

using Kind = SysfsNode::Kind;

constexpr char kClass[] = "/sys/class/infiniband";
constexpr char kRdmaCm[] = "/sys/class/misc/rdma_cm";  // [CM-DEV-2]
constexpr char kDevices[] = "/sys/devices/";           // where the links in the class folders lead to

// Without "..", "." and empty ones.
std::vector<std::string> normal_parts(const std::string& path) {
  std::vector<std::string> parts;
  for (const std::string& part : path_parts(path)) {
    if (part == ".." && !parts.empty())
      parts.pop_back();
    else if (!part.empty() && part != "." && part != "..")
      parts.push_back(part);
  }
  return parts;
}

// A path below one of the two class folders.
struct Place {
  enum class Class { kNone, kInfiniband, kVerbs } of = Class::kNone;
  const ibv_device* device = nullptr;  // null: the class folder itself, or a file in it
  std::vector<std::string> rest;       // below the device, or the class folder
  bool linked = false;                 // by way of a class folder, where the device is a link
};

Place::Class class_of(const std::string& name) {
  if (name == "infiniband") return Place::Class::kInfiniband;
  return name == "infiniband_verbs" ? Place::Class::kVerbs : Place::Class::kNone;
}

const ibv_device* device_in(Place::Class of, const std::string& name) {
  return of == Place::Class::kInfiniband ? device_by_name(name.c_str()) : device_by_uverbs(name.c_str());
}

Place place_of(const std::string& path) {
  const std::vector<std::string> parts = normal_parts(path);
  Place place;
  if (parts.size() < 3 || parts[0] != "sys") return place;
  if (parts[1] == "class") {
    place.of = class_of(parts[2]);
    if (place.of == Place::Class::kNone) return place;
    place.linked = true;
    if (parts.size() > 3) place.device = device_in(place.of, parts[3]);
    place.rest.assign(parts.begin() + (place.device != nullptr ? 4 : 3), parts.end());
    return place;
  }
  for (size_t i = 2; parts[1] == "devices" && i + 1 < parts.size(); ++i) {
    const Place::Class of = class_of(parts[i]);
    const ibv_device* const device = of != Place::Class::kNone ? device_in(of, parts[i + 1]) : nullptr;
    if (device == nullptr) continue;
    place = {of, device, {parts.begin() + static_cast<long>(i) + 2, parts.end()}};
    break;
  }
  return place;
}

std::string joined(const std::vector<std::string>& parts, size_t from) {
  std::string path;
  for (size_t i = from; i < parts.size(); ++i) path += "/" + parts[i];
  return path;
}

// Where the kernel's link of a device in a class folder leads to.
std::string device_target(const Place& place) {
  const DeviceFiles files(place.device);
  const std::string hardware = files.hardware();
  const std::string under =
      hardware.compare(0, sizeof kDevices - 1, kDevices) == 0 ? hardware.substr(sizeof kDevices - 1) + "/" : "";
  return "../../devices/" + under +
         (place.of == Place::Class::kVerbs ? std::string("infiniband_verbs/") + place.device->dev_name
                                           : std::string("infiniband/") + place.device->name);
}

// The devices whose links lead into this folder below /sys/devices.
std::vector<std::string> linked_from(const std::string& folder) {
  std::vector<std::string> names;
  if (folder.compare(0, sizeof kDevices - 1, kDevices) != 0) return names;
  const Place::Class of = class_of(folder.substr(folder.rfind('/') + 1));
  if (of == Place::Class::kNone) return names;
  for (const ibv_device* device : devices()) {
    const char* const name = of == Place::Class::kVerbs ? device->dev_name : device->name;
    if (normal_path("/sys/class/infiniband/" + device_target({of, device, {}})) == folder + "/" + name)
      names.emplace_back(name);
  }
  return names;
}

// The parent of a class folder by way of "..", which the kernel cannot resolve where it has no such folder.
bool is_above_class(const std::string& path) {
  const std::string rest = path.substr(sizeof kClass - 1);
  const std::string verbs = "_verbs";
  const std::string below = rest.compare(0, verbs.size(), verbs) == 0 ? rest.substr(verbs.size()) : rest;
  return below.compare(0, 3, "/..") == 0 && (below.size() == 3 || below[3] == '/');
}

std::optional<SysfsNode> file(const std::string& line) {
  return SysfsNode{Kind::kFile, line + "\n", ""};
}
std::optional<SysfsNode> folder() {
  return SysfsNode{Kind::kFolder, "", ""};
}

std::optional<SysfsNode> hardware_node(const Place& place) {
  const std::string hardware = DeviceFiles(place.device).hardware();
  if (!hardware.empty()) {
    if (place.rest.size() > 1) return SysfsNode{Kind::kFile, "", hardware + joined(place.rest, 1)};
    return SysfsNode{Kind::kLink, "../../../" + hardware.substr(hardware.rfind('/') + 1), hardware};
  }
  if (place.rest.size() == 1) return folder();
  return place.rest.size() == 2 && place.rest[1] == "numa_node" ? file("-1") : std::nullopt;
}

std::optional<SysfsNode> verbs_node(const Place& place) {
  if (place.device == nullptr) {
    if (place.rest.empty()) return devices().empty() ? std::nullopt : folder();
    constexpr char kAbi[] = "6";  // of the kernel's uverbs
    return place.rest.size() == 1 && place.rest[0] == "abi_version" && !devices().empty() ? file(kAbi) : std::nullopt;
  }
  if (place.rest.empty()) return place.linked ? SysfsNode{Kind::kLink, device_target(place), ""} : folder();
  if (place.rest[0] == "device") return hardware_node(place);
  if (place.rest.size() != 1) return std::nullopt;
  if (place.rest[0] == "ibdev") return file(place.device->name);
  return place.rest[0] == "abi_version" ? file("1") : std::nullopt;
}

std::optional<SysfsNode> infiniband_node(const Place& place) {
  if (place.device == nullptr) return place.rest.empty() && !devices().empty() ? folder() : std::nullopt;
  if (place.rest.empty()) return place.linked ? SysfsNode{Kind::kLink, device_target(place), ""} : folder();
  if (place.rest[0] == "device") return hardware_node(place);
  const DeviceFiles files(place.device);
  const std::string rest = joined(place.rest, 0).substr(1);
  if (const auto line = files.read(rest)) return file(*line);
  return files.entries(rest).empty() ? std::nullopt : folder();
}

std::optional<SysfsNode> rdma_cm_node(const std::string& rest) {
  if (devices().empty()) return std::nullopt;
  if (rest.empty()) return folder();
  constexpr char kAbi[] = "4";  // RDMA_USER_CM_ABI_VERSION
  return rest == "/abi_version" ? file(kAbi) : std::nullopt;
}

}  // namespace

bool is_sysfs_path(const char* path) {
  if (path == nullptr) return false;
  if (std::strncmp(path, kClass, sizeof kClass - 1) == 0) return true;
  if (std::strncmp(path, kRdmaCm, sizeof kRdmaCm - 1) == 0) return true;
  return std::strncmp(path, kDevices, sizeof kDevices - 1) == 0 && std::strstr(path, "/infiniband") != nullptr;
}

std::string linked_path(const std::string& path) {
  const Place place = place_of(path);
  if (place.device == nullptr) return normal_path(path);
  return normal_path("/sys/class/infiniband/" + device_target(place)) + joined(place.rest, 0);
}

std::string normal_path(const std::string& path) {
  const std::string normal = joined(normal_parts(path), 0);
  return normal.empty() ? "/" : normal;
}

uint64_t inode_of(const std::string& path) {
  return std::hash<std::string>()(normal_path(path)) | 1;
}

std::optional<SysfsNode> find_node(const std::string& path) {
  if (!is_sysfs_path(path.c_str())) return std::nullopt;
  const bool in_class = path.compare(0, sizeof kClass - 1, kClass) == 0;
  const std::string normal = normal_path(path);
  if (in_class && is_above_class(path) && !is_sysfs_path(normal.c_str()))
    return devices().empty() ? std::nullopt : std::optional<SysfsNode>({Kind::kFolder, "", normal});
  if (normal.compare(0, sizeof kRdmaCm - 1, kRdmaCm) == 0) return rdma_cm_node(normal.substr(sizeof kRdmaCm - 1));
  const Place place = place_of(path);
  switch (place.of) {
    case Place::Class::kInfiniband:
      return infiniband_node(place);
    case Place::Class::kVerbs:
      return verbs_node(place);
    default:
      return linked_from(normal).empty() ? std::nullopt : folder();
  }
}

std::vector<SysfsEntry> list_folder(const std::string& path) {
  const Place place = place_of(path);
  std::vector<SysfsEntry> list;
  if (place.of == Place::Class::kNone) {
    for (const std::string& name : linked_from(normal_path(path))) list.push_back({name, Kind::kFolder});
    return list;
  }
  const bool verbs = place.of == Place::Class::kVerbs;
  if (place.device == nullptr) {
    if (!place.rest.empty()) return list;
    for (const ibv_device* device : devices()) list.push_back({verbs ? device->dev_name : device->name, Kind::kLink});
    if (verbs && !list.empty()) list.push_back({"abi_version", Kind::kFile});
    return list;
  }
  if (!place.rest.empty() && place.rest[0] == "device") {
    if (place.rest.size() == 1) list.push_back({"numa_node", Kind::kFile});
    return list;
  }
  if (verbs) {
    if (place.rest.empty()) list = {{"abi_version", Kind::kFile}, {"device", Kind::kFolder}, {"ibdev", Kind::kFile}};
    return list;
  }
  const std::string rest = place.rest.empty() ? "" : joined(place.rest, 0).substr(1);
  for (const DeviceFiles::Entry& entry : DeviceFiles(place.device).entries(rest))
    list.push_back({entry.name, entry.folder ? Kind::kFolder : Kind::kFile});
  if (place.rest.empty()) list.push_back({"device", Kind::kFolder});
  return list;
}

int read_answer(const char* path, char* buffer, size_t size) {
  if (!is_sysfs_path(path)) return -1;
  const auto node = find_node(path);
  if (!node || node->kind != Kind::kFile || !node->real.empty()) return -1;
  const size_t n = std::min(node->content.size() - 1, size);
  std::memcpy(buffer, node->content.data(), n);
  if (n < size) buffer[n] = '\0';
  return static_cast<int>(n);
}

}  // namespace mrc::shim
