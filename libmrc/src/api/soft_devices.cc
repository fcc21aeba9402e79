#include "api/soft_devices.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>

#include "api/errors.h"
#include "device/registry.h"

namespace mrc::api {

namespace {

// libibverbs and providers keep private members behind an ibv_device and read them; these are zero here.
struct SoftDevice {
  ibv_device device;
  char behind[1024];
};

Mutex list_mutex;
std::deque<SoftDevice>& devices() ABSL_EXCLUSIVE_LOCKS_REQUIRED(list_mutex) {
  static auto* all = new std::deque<SoftDevice>;  // never destroyed, see the header
  return *all;
}

static_assert(sizeof(ibv_device::name) > device::kMaxDeviceName);

void name_device(SoftDevice* d, const std::string& name, size_t index) {
  std::memset(d, 0, sizeof *d);
  d->device.node_type = IBV_NODE_CA;
  d->device.transport_type = IBV_TRANSPORT_IB;
  std::snprintf(d->device.name, sizeof d->device.name, "%s", name.c_str());
  std::snprintf(d->device.dev_name, sizeof d->device.dev_name, "uverbs%zu", index);
  std::snprintf(d->device.dev_path, sizeof d->device.dev_path, "/sys/class/infiniband_verbs/uverbs%zu", index);
  std::snprintf(d->device.ibdev_path, sizeof d->device.ibdev_path, "/sys/class/infiniband/%.200s", name.c_str());
}

// False when the configuration is refused.
bool make_devices() ABSL_EXCLUSIVE_LOCKS_REQUIRED(list_mutex) {
  if (!devices().empty()) return true;
  const device::Config* config = device::process_config();
  if (config == nullptr) return false;
  for (size_t i = 0; i < config->devices.size(); ++i)
    name_device(&devices().emplace_back(), config->devices[i].name, i);
  return true;
}

}  // namespace

bool is_soft_device(const ibv_device* device) {
  const MutexLock lock(list_mutex);
  return std::any_of(devices().begin(), devices().end(), [&](const SoftDevice& d) { return &d.device == device; });
}

}  // namespace mrc::api

using mrc::api::null_with;

extern "C" {

ibv_device** mrc_soft_get_device_list(int* num_devices) {
  if (num_devices != nullptr) *num_devices = 0;
  return mrc::api::or_enomem<ibv_device**>(nullptr, [&]() -> ibv_device** {
    const mrc::MutexLock lock(mrc::api::list_mutex);
    if (!mrc::api::make_devices()) return null_with(EINVAL);
    const size_t n = mrc::api::devices().size();
    auto** list = new ibv_device*[n + 1];
    for (size_t i = 0; i < n; ++i) list[i] = &mrc::api::devices()[i].device;
    list[n] = nullptr;
    if (num_devices != nullptr) *num_devices = static_cast<int>(n);
    return list;
  });
}

void mrc_soft_free_device_list(ibv_device** list) {
  delete[] list;
}

const char* mrc_soft_get_device_name(ibv_device* device) {
  return device != nullptr ? device->name : null_with(EINVAL);
}

const char* mrc_soft_config_error(void) {
  return mrc::device::config_error();
}

ibv_context* mrc_soft_open_device_by_name(const char* name) {
  ibv_device** list = mrc_soft_get_device_list(nullptr);
  if (list == nullptr) return nullptr;
  ibv_device* found = nullptr;
  for (ibv_device** d = list; *d != nullptr && found == nullptr; ++d)
    if (name == nullptr || std::strcmp((*d)->name, name) == 0) found = *d;
  mrc_soft_free_device_list(list);
  return found != nullptr ? mrc_soft_open_device(found) : null_with(ENODEV);
}

}  // extern "C"
