#include "devices.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace mrc::mrcd {

namespace {

constexpr uint32_t kMaxPlanes = 32;
constexpr uint32_t kMaxEvs = 4096;
constexpr int kFileVersion = 1;

}  // namespace

void Devices::add(std::unique_ptr<SharedDevice> device) {
  const Checked checked(this);
  const std::string name = device->name();
  restore_kept(device.get());
  order_.push_back(name);
  devices_[name] = std::move(device);
}

SharedDevice* Devices::find(const std::string& name) const {
  const auto found = devices_.find(name.empty() && !order_.empty() ? order_.front() : name);
  return found != devices_.end() ? found->second.get() : nullptr;
}

// Any process can name a device, so their number is limited; and the file's entry for one is not lost to a process
// with the same device name and another shape.
SharedDevice* Devices::make(const ctl::Registration& registration) {
  const Checked checked(this);
  const std::string& name = registration.device;
  const uint32_t evs = std::min<uint32_t>(registration.evs, kMaxEvs);
  // Some may have outlived their processes for what was configured on them, and no longer is.
  for (const std::string& there : std::set<std::string>(made_)) drop_if_unused(devices_.at(there).get());
  if (registration.planes < 1 || registration.planes > kMaxPlanes || registration.ev_mode.size() > kMaxName ||
      made_.size() >= kMaxMade)
    return nullptr;
  const auto shaped = [&] {
    return std::make_unique<SharedDevice>(name, registration.planes, registration.ev_mode, evs);
  };
  auto device = shaped();
  restore_kept(device.get());
  if (kept_.contains(name)) device = shaped();  // its entry does not fit: none of it is used
  made_.insert(name);
  order_.push_back(name);
  return (devices_[name] = std::move(device)).get();
}

void Devices::drop_if_unused(SharedDevice* device) {
  const Checked checked(this);
  const std::string name = device->name();
  if (made_.count(name) == 0 || !device->unconfigured() || context_.is_open(device)) return;
  made_.erase(name);
  order_.erase(std::find(order_.begin(), order_.end(), name));
  devices_.erase(name);
  context_.dropped(name);
}

void Devices::restore_kept(SharedDevice* device) {
  const auto kept = kept_.find(device->name());
  if (kept != kept_.end() && device->restore(kept->second)) kept_.erase(kept);
}

void Devices::changed(const SharedDevice* device) {
  kept_.erase(device->name());
  context_.changed();
}

nlohmann::json Devices::file_state() const {
  std::map<std::string, ctl::DeviceState> state = kept_;
  for (const auto& [name, device] : devices_)
    if (made_.count(name) == 0 || !device->unconfigured()) state.try_emplace(name, device->state_for_file());
  return {{"version", kFileVersion}, {"devices", state}};
}

bool Devices::restore(const nlohmann::json& state) {
  try {
    if (state.value("version", ctl::Whole<int>(kFileVersion)) != kFileVersion) return false;
    for (const auto& [key, value] : state.items())  // a misspelt key would drop all that is denied
      if (key != "version" && key != "devices") return false;
    kept_ = state.value("devices", std::map<std::string, ctl::DeviceState>());
  } catch (const nlohmann::json::exception&) {
    return false;
  }
  for (auto& [name, device] : devices_) restore_kept(device.get());
  return true;
}

void Devices::check() const {
  if constexpr (!kCheckInvariants) return;
  if (!pace_.due(devices_.size())) return;
  MRC_INVARIANT(order_.size() == devices_.size() && made_.size() <= kMaxMade);
  for (const std::string& name : order_) MRC_INVARIANT(devices_.contains(name));
  for (const std::string& name : made_) MRC_INVARIANT(devices_.contains(name));
}

}  // namespace mrc::mrcd
