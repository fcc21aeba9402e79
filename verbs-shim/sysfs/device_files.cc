#include "sysfs/device_files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "gid.h"
#include "objects/device.h"
#include "provider/provider.h"
#include "sysfs/counters.h"
#include "sysfs/links.h"
#include "sysfs/path_parts.h"

namespace mrc::shim {

namespace {

using Line = std::optional<std::string>;
using Entries = std::vector<DeviceFiles::Entry>;

constexpr const char* kDeviceFiles[] = {"board_id",  "fw_ver",    "hca_type",  "hw_rev",
                                        "node_desc", "node_guid", "node_type", "sys_image_guid"};
constexpr const char* kPortFiles[] = {"cap_mask", "lid",    "lid_mask_count", "link_layer", "phys_state",
                                      "rate",     "sm_lid", "sm_sl",          "state"};

template <size_t N>
Entries files(const char* const (&names)[N]) {
  Entries list;
  for (const char* name : names) list.push_back({name, false});
  return list;
}

Entries folders(std::initializer_list<const char*> names) {
  Entries list;
  for (const char* name : names) list.push_back({name, true});
  return list;
}

std::string guid_text(uint64_t network_order) {
  uint8_t b[8];
  std::memcpy(b, &network_order, sizeof b);
  char text[24];
  std::snprintf(text, sizeof text, "%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5], b[6],
                b[7]);
  return text;
}

// As the kernel writes it: all eight groups of digits.
std::string kernel_gid_text(const union ibv_gid& gid) {
  char text[48];
  int n = 0;
  for (int i = 0; i < 16; i += 2)
    n += std::snprintf(text + n, sizeof text - static_cast<size_t>(n), "%s%02x%02x", i ? ":" : "", gid.raw[i],
                       gid.raw[i + 1]);
  return text;
}

// As the kernel writes it: the speed, then lanes and their kind. The kind is the nearest one with a name.
std::string rate_text(const Links& links, const ibv_port_attr& port) {
  const char* kind = port.active_speed == 4     ? "QDR"
                     : port.active_speed == 64  ? "HDR"
                     : port.active_speed == 128 ? "NDR"
                                                : "EDR";
  char text[64];
  std::snprintf(text, sizeof text, "%.6g Gb/sec (4X %s)", port_gbps(links), kind);
  return text;
}

// A table's index in decimal.
std::optional<int> index_of(const std::string& text) {
  if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), ::isdigit)) return std::nullopt;
  return std::stoi(text);
}

}  // namespace

DeviceFiles::DeviceFiles(const ibv_device* device)
    : device_(device), soft_(provider()->mrc_soft_open_device(soft_device(device))) {}

DeviceFiles::~DeviceFiles() {
  if (soft_ != nullptr) provider()->mrc_soft_close_device(soft_);
}

std::string DeviceFiles::hardware() const {
  return soft_ != nullptr ? hardware_of(links_of(soft_)) : "";
}

Line DeviceFiles::read(const std::string& path) const {
  const std::vector<std::string> file = path_parts(path);
  if (soft_ == nullptr || file.empty()) return std::nullopt;
  if (file.size() > 2 && file[0] == "ports" && file[1] == "1") return port_file({file.begin() + 2, file.end()});
  if (file.size() != 1) return std::nullopt;
  const std::string& name = file[0];
  if (name == "node_type") return "1: CA";
  if (name == "node_desc") return device_->name;
  if (name == "node_guid" || name == "sys_image_guid") return guid_text(device_guid(device_));
  if (name == "fw_ver") return "1.0.1";
  if (name == "hca_type" || name == "board_id") return "MRC_SOFT";
  if (name == "hw_rev") return "1";
  return std::nullopt;
}

Line DeviceFiles::port_file(const std::vector<std::string>& file) const {
  const std::string& name = file[0];
  if (file.size() == 2 && name == "counters") return port_counter(soft_, file[1]);
  if (file.size() == 2 && name == "hw_counters") return device_counter(soft_, file[1]);
  if (file.size() > 1) return gid_file(file);
  ibv_port_attr port;
  bool active = false;  // all planes are one port to verbs
  for (uint8_t plane = 1; !active && provider()->mrc_soft_query_port(soft_, plane, &port) == 0; ++plane)
    active = port.state == IBV_PORT_ACTIVE;
  if (name == "state") return active ? "4: ACTIVE" : "1: DOWN";
  if (name == "phys_state") return active ? "5: LinkUp" : "3: Disabled";
  if (name == "link_layer") return "Ethernet";
  if (name == "rate")
    return provider()->mrc_soft_query_port(soft_, 1, &port) == 0 ? Line(rate_text(links_of(soft_), port)) : Line();
  if (name == "lid" || name == "sm_lid") return "0x0";
  if (name == "lid_mask_count" || name == "sm_sl") return "0";
  if (name == "cap_mask") return "0x04010000";
  return std::nullopt;
}

Line DeviceFiles::gid_file(const std::vector<std::string>& file) const {
  const std::optional<int> index = index_of(file.back());
  if (!index) return std::nullopt;
  if (file.size() == 2 && file[0] == "pkeys" && *index == 0) return "0xffff";
  union ibv_gid gid;
  if (provider()->mrc_soft_query_gid(soft_, 1, *index, &gid) != 0) return std::nullopt;
  if (file.size() == 2 && file[0] == "gids") return kernel_gid_text(gid);
  if (file.size() != 3 || file[0] != "gid_attrs" || is_zero(gid)) return std::nullopt;
  if (file[1] == "types") return "RoCE v2";
  if (file[1] != "ndevs") return std::nullopt;
  const std::string interface = interface_of(gid, links_of(soft_));
  return interface.empty() ? Line() : Line(interface);
}

Entries DeviceFiles::entries(const std::string& folder) const {
  Entries list;
  if (soft_ == nullptr) return list;
  if (folder.empty()) {
    list = files(kDeviceFiles);
    list.push_back({"ports", true});
    return list;
  }
  if (folder == "ports") return folders({"1"});
  if (folder == "ports/1") {
    list = files(kPortFiles);
    for (const Entry& entry : folders({"counters", "gid_attrs", "gids", "hw_counters", "pkeys"})) list.push_back(entry);
    return list;
  }
  if (folder == "ports/1/gid_attrs") return folders({"ndevs", "types"});
  if (folder == "ports/1/pkeys") return {{"0", false}};
  if (folder == "ports/1/gids" || folder == "ports/1/gid_attrs/types" || folder == "ports/1/gid_attrs/ndevs") {
    ibv_port_attr port;
    if (provider()->mrc_soft_query_port(soft_, 1, &port) != 0) return list;
    for (int i = 0; i < port.gid_tbl_len; ++i)
      if (read(folder + "/" + std::to_string(i))) list.push_back({std::to_string(i), false});
    return list;
  }
  if (folder == "ports/1/counters")
    for (const std::string& name : port_counter_names()) list.push_back({name, false});
  if (folder == "ports/1/hw_counters")
    for (const std::string& name : device_counter_names(soft_)) list.push_back({name, false});
  return list;
}

}  // namespace mrc::shim
