#include "sysfs/answers.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "objects/device.h"
#include "provider/provider.h"

namespace mrc::shim {

namespace {

constexpr char kClass[] = "/sys/class/infiniband";

// A device that is open for the time of an answer.
class Opened {
 public:
  explicit Opened(const ibv_device* device) : context_(provider()->mrc_soft_open_device(soft_device(device))) {}
  ~Opened() {
    if (context_ != nullptr) provider()->mrc_soft_close_device(context_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ibv_context* get() const { return context_; }

 private:
  ibv_context* const context_;
};

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    if (slash > at) parts.push_back(path.substr(at, slash - at));
    at = slash + 1;
  }
  return parts;
}

std::string guid_text(uint64_t network_order) {
  uint8_t b[8];
  std::memcpy(b, &network_order, sizeof b);
  char text[24];
  std::snprintf(text, sizeof text, "%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5], b[6],
                b[7]);
  return text;
}

bool port_file(const ibv_device* device, const std::vector<std::string>& file, std::string* out) {
  const Opened open(device);
  if (open.get() == nullptr) return false;
  ibv_port_attr port;
  if (provider()->mrc_soft_query_port(open.get(), 1, &port) != 0) return false;
  const std::string& name = file[0];
  if (file.size() == 1) {
    if (name == "state")
      *out = port.state == IBV_PORT_ACTIVE ? "4: ACTIVE" : "1: DOWN";
    else if (name == "phys_state")
      *out = port.phys_state == 5 ? "5: LinkUp" : "3: Disabled";
    else if (name == "link_layer")
      *out = "Ethernet";
    else if (name == "rate")
      *out = "100 Gb/sec (4X EDR)";
    else if (name == "lid" || name == "sm_lid")
      *out = "0x0";
    else if (name == "lid_mask_count" || name == "sm_sl")
      *out = "0";
    else if (name == "cap_mask")
      *out = "0x04010000";
    else
      return false;
    return true;
  }
  const std::string& last = file.back();
  if (last.empty() || !std::all_of(last.begin(), last.end(), ::isdigit) || last.size() > 5) return false;
  const int index = std::stoi(last);
  if (name == "pkeys" && file.size() == 2 && index == 0) return *out = "0xffff", true;
  union ibv_gid gid;
  if (index >= port.gid_tbl_len || provider()->mrc_soft_query_gid(open.get(), 1, index, &gid) != 0) return false;
  if (name == "gids" && file.size() == 2) {
    char text[48];
    int n = 0;
    for (int i = 0; i < 16; i += 2)
      n += std::snprintf(text + n, sizeof text - static_cast<size_t>(n), "%s%02x%02x", i ? ":" : "", gid.raw[i],
                         gid.raw[i + 1]);
    *out = text;
    return true;
  }
  const bool empty = std::all_of(std::begin(gid.raw), std::end(gid.raw), [](uint8_t b) { return b == 0; });
  if (name != "gid_attrs" || file.size() != 3 || empty) return false;
  if (file[1] == "types") return *out = "RoCE v2", true;
  if (file[1] == "ndevs") return *out = "lo", true;
  return false;
}

bool device_file(const ibv_device* device, const std::vector<std::string>& file, std::string* out) {
  if (file.size() >= 3 && file[0] == "ports" && file[1] == "1")
    return port_file(device, {file.begin() + 2, file.end()}, out);
  if (file.size() != 1) return false;
  if (file[0] == "node_type")
    *out = "1: CA";
  else if (file[0] == "node_desc")
    *out = device->name;
  else if (file[0] == "node_guid" || file[0] == "sys_image_guid")
    *out = guid_text(device_guid(device));
  else if (file[0] == "fw_ver")
    *out = "1.0.1";
  else if (file[0] == "hca_type" || file[0] == "board_id")
    *out = "MRC_SOFT";
  else if (file[0] == "hw_rev")
    *out = "1";
  else
    return false;
  return true;
}

}  // namespace

bool is_sysfs_path(const char* path) {
  return path != nullptr && std::strncmp(path, kClass, sizeof kClass - 1) == 0;
}

bool answer(const std::string& path, std::string* content) {
  if (!is_sysfs_path(path.c_str())) return false;
  const std::vector<std::string> parts = split(path);
  if (parts.size() < 4) {
    if (parts.size() != 4 && parts.size() != 3) return false;
    return false;
  }
  if (parts[2] == "infiniband") {
    const ibv_device* device = device_by_name(parts[3].c_str());
    if (device == nullptr || !device_file(device, {parts.begin() + 4, parts.end()}, content)) return false;
  } else if (parts[2] == "infiniband_verbs" && parts.size() == 5) {
    const ibv_device* device = device_by_uverbs(parts[3].c_str());
    if (device == nullptr) return false;
    if (parts[4] == "ibdev")
      *content = device->name;
    else if (parts[4] == "abi_version")
      *content = "1";
    else
      return false;
  } else {
    return false;
  }
  *content += '\n';
  return true;
}

bool is_folder(const std::string& path) {
  if (!is_sysfs_path(path.c_str())) return false;
  const std::vector<std::string> p = split(path);
  if (p.size() < 4) return false;
  if (p[2] == "infiniband_verbs") return p.size() == 4 && device_by_uverbs(p[3].c_str()) != nullptr;
  if (p[2] != "infiniband" || device_by_name(p[3].c_str()) == nullptr) return false;
  static const char* const kFolders[] = {"",
                                         "device",
                                         "ports",
                                         "ports/1",
                                         "ports/1/gids",
                                         "ports/1/pkeys",
                                         "ports/1/gid_attrs",
                                         "ports/1/gid_attrs/types",
                                         "ports/1/gid_attrs/ndevs"};
  std::string rest;
  for (size_t i = 4; i < p.size(); ++i) rest += (rest.empty() ? "" : "/") + p[i];
  return std::any_of(std::begin(kFolders), std::end(kFolders), [&](const char* f) { return rest == f; });
}

int read_answer(const char* path, char* buffer, size_t size) {
  std::string content;
  if (!is_sysfs_path(path) || !answer(path, &content)) return -1;
  content.pop_back();
  const size_t n = std::min(content.size(), size);
  std::memcpy(buffer, content.data(), n);
  if (n < size) buffer[n] = '\0';
  return static_cast<int>(n);
}

}  // namespace mrc::shim
