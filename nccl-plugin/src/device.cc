#include "device.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "append_item.h"
#include "gid.h"
#include "log.h"
#include "name_filter.h"

namespace mrc::nccl {

namespace {

// Different for different devices of a host, the same at every start: NCCL recognises ports of one NIC by it.
uint64_t guid_of(const ibv_gid& gid, const std::string& name) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (uint8_t b : gid.raw) add(b);
  for (char c : name) add(static_cast<uint8_t>(c));
  return hash;
}

// Signalling rate in Mb/s from the port attributes of a NIC: width times lane speed.
int speed_of(const ibv_port_attr& port) {
  int lanes = 1;
  for (const auto& [bit, count] : {std::pair{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}})
    if (port.active_width == bit) lanes = count;
  int lane = 0;
  for (const auto& [bit, mbps] :
       {std::pair{1, 2500}, {2, 5000}, {4, 10000}, {8, 10000}, {16, 14000}, {32, 25000}, {64, 50000}, {128, 100000}})
    if (port.active_speed == bit) lane = mbps;
  return lanes * lane;
}

}  // namespace

std::string pci_path_of(const std::string& folder, const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) return "";
  char* real = realpath((folder + "/" + name + "/device").c_str(), nullptr);
  if (real == nullptr) return "";
  std::string path = real;
  std::free(real);
  // A virtual function of a software bus (virtio0, vmbus) is no PCI function; its parent may be one.
  const std::string last = path.substr(path.rfind('/') + 1);
  if (last.find(':') == std::string::npos) path.resize(path.rfind('/'));
  return path.find("/pci") == std::string::npos ? "" : path;
}

void read_description(const std::string& text, Device* device) {
  const nlohmann::json facts = nlohmann::json::parse(text, nullptr, false);
  if (!facts.is_object()) return;
  const nlohmann::json settings = facts.value("settings", nlohmann::json::object());
  const auto set = [&](const char* name, double otherwise) {
    return settings.contains(name) ? std::atof(settings[name].get<std::string>().c_str()) : otherwise;
  };
  // The rate in force: as configured, or the sum of the network cards. Zero means a rate or a round trip
  // measured during operation; then the port's nominal speed is used, and a latency of zero means for NCCL that it
  // is unknown.
  const double gbps = facts.value("line_rate_gbps", 0.0);
  if (gbps > 0) device->speed_mbps = static_cast<int>(std::lround(gbps * 1000));
  device->latency_us = set("base_rtt_us", 0) / 2;
  device->max_qps = static_cast<int>(set("max_qps", device->max_qps));
  for (const nlohmann::json& plane : facts.value("planes", nlohmann::json::array())) {
    if (device->pci_path.empty())
      device->pci_path = pci_path_of("/sys/class/net", plane.value("interface", std::string()));
    if (const std::string out = plane.value("out", std::string()); !out.empty())
      device->planes_out.push_back("plane " + std::to_string(plane.value("plane", 0)) + " is out: " + out);
  }
}

Devices::~Devices() {
  for (const auto& device : devices_) close(device.get());
}

void Devices::close(Device* device) {
  if (device->mrc != nullptr && api_.mrc_destroy_context(device->mrc) != 0)
    NET_WARN("%s is closed while connections use it", device->name.c_str());
  if (device->pd != nullptr && api_.verbs.dealloc_pd(device->pd) != 0)
    NET_WARN("%s is closed while memory is registered with it", device->name.c_str());
  if (device->verbs != nullptr) api_.verbs.close_device(device->verbs);
}

Status Devices::open() {
  int found = 0;
  ibv_device** list = api_.verbs.get_device_list(&found);
  if (list == nullptr) {
    const char* reason = api_.config_error != nullptr ? api_.config_error() : nullptr;
    return reason != nullptr ? invalid(std::string("the configuration was refused: ") + reason)
                             : failed_call("no devices can be listed");
  }
  std::string names;
  bool is_any_chosen = false;
  for (int i = 0; i < found; ++i) {
    const std::string name = api_.verbs.get_device_name(list[i]);
    append_item(&names, name);
    if (!name_chosen(settings_.hca, name)) continue;
    is_any_chosen = true;
    if (const Status opened = open_one(list[i]); !opened)
      NET_WARN("%s is not used: %s", name.c_str(), opened.error().text.c_str());
  }
  api_.verbs.free_device_list(list);
  if (!devices_.empty()) return {};
  if (names.empty()) return Error{ENODEV, "there is no device"};
  return Error{ENODEV, is_any_chosen
                           ? "none of the devices (" + names + ") can be used"
                           : "NCCL_MRC_HCA=" + settings_.hca + " chooses none of the devices (" + names + ")"};
}

Status Devices::open_one(ibv_device* found) {
  auto device = std::make_unique<Device>();
  device->name = api_.verbs.get_device_name(found);
  auto failed = [&](const char* call, int code = errno) {
    Error error = failed_call(call, code);
    close(device.get());
    return error;
  };
  device->verbs = api_.verbs.open_device(found);
  if (device->verbs == nullptr) {
    Error error = failed("opening it");
    if (api_.config_error != nullptr) error.text += "; the line \"mrc: error\" on standard error has the reason";
    return error;
  }
  int supported = 0;
  mrc_device_attr attributes{};
  if (api_.mrc_query_device(device->verbs, &attributes, &supported) != 0) return failed("mrc_query_device");
  if (supported == 0) return failed("MRC", EOPNOTSUPP);
  if (!find_gid(device.get())) return failed("no usable GID", EADDRNOTAVAIL);
  mrc_context_attr context{};
  context.mrc_api_version_used = MRC_API_VER_USED;
  device->mrc = api_.mrc_create_context(device->verbs, &context);
  if (device->mrc == nullptr) return failed("mrc_create_context");
  device->pd = api_.verbs.alloc_pd(device->verbs);
  if (device->pd == nullptr) return failed("allocating a protection domain");
  describe(device.get());
  for (const std::string& out : device->planes_out)
    NET_WARN("%s goes on with its other planes, which carry less: %s", device->name.c_str(), out.c_str());
  if (add_virtual({device->name, {static_cast<int>(devices_.size())}}) < 0) return failed("too many", ENOSPC);
  devices_.push_back(std::move(device));
  return {};
}

bool Devices::find_gid(Device* device) const {
  ibv_port_attr port{};
  if (api_.verbs.query_port(device->verbs, 1, &port) != 0) return false;
  device->mtu = static_cast<uint8_t>(port.active_mtu);
  device->speed_mbps = speed_of(port);
  auto usable = [&](int index) {
    if (index < 0 || index >= port.gid_tbl_len) return false;
    if (api_.verbs.query_gid(device->verbs, 1, index, &device->gid) != 0 || is_zero(device->gid)) return false;
    device->gid_index = static_cast<uint8_t>(index);
    return true;
  };
  if (settings_.gid_index >= 0) return usable(static_cast<int>(settings_.gid_index));
  if (usable(3)) return true;
  for (int i = 0; i < std::min(port.gid_tbl_len, 256); ++i)
    if (usable(i)) return true;
  return false;
}

void Devices::describe(Device* device) const {
  device->guid = guid_of(device->gid, device->name);
  device->max_qps = 65536;
  if (api_.describe_device == nullptr) {
    device->pci_path = pci_path_of("/sys/class/infiniband", device->name);
    return;
  }
  const int size = api_.describe_device(device->verbs, nullptr, 0);
  if (size <= 0) return;
  std::string text(size, '\0');
  api_.describe_device(device->verbs, text.data(), text.size() + 1);
  read_description(text, device);
}

bool Devices::have_pci_paths(const std::vector<int>& numbers) const {
  return std::all_of(numbers.begin(), numbers.end(),
                     [this](int number) { return !valid(number) || !member(number, 0).pci_path.empty(); });
}

int Devices::make_virtual(const std::vector<int>& numbers) {
  VirtualDevice joined;
  for (int number : numbers) {
    if (!valid(number) || virtual_[number].members.size() != 1) return -1;
    const int index = virtual_[number].members[0];
    if (std::find(joined.members.begin(), joined.members.end(), index) != joined.members.end()) return -1;
    joined.members.push_back(index);
    append_item(&joined.name, virtual_[number].name, "+");
  }
  if (joined.members.empty() || joined.members.size() > kMaxMembers) return -1;
  return add_virtual(std::move(joined));
}

int Devices::add_virtual(VirtualDevice made) {
  const MutexLock lock(adding_);
  const int number = count();
  if (number == kMaxVirtual) return -1;
  virtual_[number] = std::move(made);
  count_.store(number + 1, std::memory_order_release);
  return number;
}

}  // namespace mrc::nccl
