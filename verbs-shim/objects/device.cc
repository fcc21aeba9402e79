#include "objects/device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>

#include "append_item.h"
#include "provider/provider.h"
#include "settings/log.h"
#include "settings/settings.h"

namespace mrc::shim {

namespace {

// Numbers far above those that the kernel assigns, so that ours and real devices have different names.
constexpr int kFirstUverbs = 900;

// libibverbs and providers keep private members behind an ibv_device and read them; these are zero here.
struct Device {
  ibv_device device;
  char behind[1024];
  ibv_device* soft;
};

struct All {
  std::deque<Device> devices;
  std::vector<ibv_device*> shown;
  ibv_device** list = nullptr;  // the provider's, which is kept: its devices stay in use
};

// A misspelt name hides a device without a word.
void report_unknown_names(ibv_device* const* list, int n) {
  std::string known;
  for (int i = 0; i < n; ++i) append_item(&known, list[i]->name);
  if (known.empty()) known = "none";
  for (const std::string& name : settings().device_names())
    if (!name.empty() && std::none_of(list, list + n, [&](const ibv_device* device) { return name == device->name; }))
      log_error(nullptr, "MRC_SHIM_DEVICES names '%s', which is no device: there is %s", name.c_str(), known.c_str());
}

const All& all() {
  static const All* const made = [] {
    auto* a = new All;
    const Provider* api = settings().devices == "none" ? nullptr : provider();
    int n = 0;
    a->list = api != nullptr ? api->mrc_soft_get_device_list(&n) : nullptr;
    for (int i = 0; a->list != nullptr && i < n; ++i) {
      if (!settings().shows(a->list[i]->name)) continue;
      Device& d = a->devices.emplace_back();
      std::memset(static_cast<void*>(&d), 0, sizeof d);
      d.soft = a->list[i];
      d.device.node_type = IBV_NODE_CA;
      d.device.transport_type = IBV_TRANSPORT_IB;
      const int number = kFirstUverbs + static_cast<int>(a->shown.size());
      std::snprintf(d.device.name, sizeof d.device.name, "%s", a->list[i]->name);
      std::snprintf(d.device.dev_name, sizeof d.device.dev_name, "uverbs%d", number);
      std::snprintf(d.device.dev_path, sizeof d.device.dev_path, "/sys/class/infiniband_verbs/uverbs%d", number);
      std::snprintf(d.device.ibdev_path, sizeof d.device.ibdev_path, "/sys/class/infiniband/%.63s", a->list[i]->name);
      a->shown.push_back(&d.device);
    }
    if (a->list != nullptr) report_unknown_names(a->list, n);
    return a;
  }();
  return *made;
}

}  // namespace

const std::vector<ibv_device*>& devices() {
  return all().shown;
}

bool is_our_device(const ibv_device* device) {
  for (const ibv_device* ours : devices())
    if (ours == device) return true;
  return false;
}

ibv_device* soft_device(const ibv_device* ours) {
  return reinterpret_cast<const Device*>(ours)->soft;
}

uint64_t device_guid(const ibv_device* ours) {
  const Provider* api = provider();
  ibv_context* context = api->mrc_soft_open_device(soft_device(ours));
  if (context == nullptr) return 0;
  ibv_device_attr attr;
  const uint64_t guid = api->mrc_soft_query_device(context, &attr) == 0 ? attr.node_guid : 0;
  api->mrc_soft_close_device(context);
  return guid;
}

int device_index(const ibv_device* ours) {
  for (size_t i = 0; i < devices().size(); ++i)
    if (devices()[i] == ours) return kFirstUverbs + static_cast<int>(i);
  return -1;
}

ibv_device* device_by_name(const char* name) {
  for (ibv_device* d : devices())
    if (std::strcmp(d->name, name) == 0) return d;
  return nullptr;
}

ibv_device* device_by_uverbs(const char* name) {
  for (ibv_device* d : devices())
    if (std::strcmp(d->dev_name, name) == 0) return d;
  return nullptr;
}

}  // namespace mrc::shim
