#include "device/shards.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "device/log.h"

namespace mrc::device {

namespace {

constexpr double kGbpsPerShard = 25;

// Why there can be one engine only; null: there can be more.
const char* why_one(const DeviceConfig& config) {
  if (config.settings.datapath != DatapathKind::kUdp) return "several require datapath udp";
  const bool nics = config.peers_are_nics || std::any_of(config.peers.begin(), config.peers.end(),
                                                         [](const PeerConfig& peer) { return peer.nic; });
  return nics ? "peers that are NICs reach the standard port only" : nullptr;
}

}  // namespace

uint32_t shard_count(const DeviceConfig& config, uint32_t processors) {
  const auto wanted = static_cast<uint32_t>(config.settings.shards);
  if (why_one(config) != nullptr) return 1;
  if (wanted != 0) return wanted;
  const auto by_rate = static_cast<uint32_t>(std::ceil(config.line_rate_gbps / kGbpsPerShard));
  return std::clamp<uint32_t>(by_rate, 1, std::clamp<uint32_t>(processors, 1, 64));
}

Result<std::shared_ptr<Shards>> Shards::start(const DeviceConfig& config) {
  const uint32_t count = shard_count(config, std::thread::hardware_concurrency());
  if (count < static_cast<uint32_t>(config.settings.shards))
    log_line(LogLevel::kWarn, "device '" + config.name + "': one engine instead of " +
                                  std::to_string(config.settings.shards) + ": " + why_one(config));
  std::vector<std::shared_ptr<Device>> devices;
  for (uint32_t shard = 0; shard < count; ++shard) {
    // The slots up to the previous shard's one are taken, which to find out takes a call for each of their ports.
    const uint32_t first_slot = shard == 0 ? 0 : devices.back()->slot() + 1u;
    Result<std::shared_ptr<Device>> started = Device::start(config, {shard, count, first_slot});
    if (started) {
      devices.push_back(*std::move(started));
      continue;
    }
    Error error = std::move(started).error();
    if (shard == 0) return error;
    const std::string which = "shards: engine " + std::to_string(shard + 1) + " of " + std::to_string(count) + ": ";
    if (config.settings.shards != 0) return std::move(error).under(which);
    log_line(LogLevel::kWarn, "it goes on with those that opened: " + which + error.text);
    break;
  }
  return std::make_shared<Shards>(std::move(devices));
}

Shards::Shards(std::vector<std::shared_ptr<Device>> devices) : devices_(std::move(devices)), qps_(devices_.size()) {
  for (const std::shared_ptr<Device>& device : devices_) {
    const DeviceLock lock(device->mutex());
    for (const std::shared_ptr<Device>& other : devices_)
      if (other != device) device->shard_reports().add(other->shard_reports(), other == devices_.front());
  }
}

uint32_t Shards::take_place(uint64_t full) {
  const MutexLock lock(places_mutex_);
  uint32_t best = 0, fewest = UINT32_MAX, equals = 0;
  for (uint32_t i = 0; i < size(); ++i) {
    const uint32_t shard = (turn_ + i) % size();
    if ((full >> shard & 1) != 0 || qps_[shard] > fewest) continue;
    equals = qps_[shard] == fewest ? equals + 1 : 1;
    if (equals > 1) continue;
    best = shard;
    fewest = qps_[shard];
  }
  if (equals > 1) turn_ = (best + 1) % size();
  ++qps_[best];
  return best;
}

void Shards::give_place(uint32_t shard) {
  const MutexLock lock(places_mutex_);
  --qps_[shard];
}

Key Shards::register_memory(uint8_t* base, uint64_t iova, uint64_t length, uint32_t access, uint32_t pd) {
  const MutexLock registering(memory_mutex_);
  core::MemoryRegion region;
  {
    const DeviceLock lock(first().mutex());
    core::MemoryTable& table = first().endpoint().memory();
    region = *table.find(table.add(base, iova, length, access, pd));
  }
  uint32_t done = 1;
  try {
    for (; done < size(); ++done) {
      Device& device = *devices_[done];
      const DeviceLock lock(device.mutex());
      if (!device.endpoint().memory().put(region)) throw std::bad_alloc();
    }
  } catch (const std::bad_alloc&) {
    for (uint32_t shard = 0; shard < done; ++shard) {
      const DeviceLock lock(devices_[shard]->mutex());
      devices_[shard]->endpoint().memory().remove(region.key);
    }
    throw;
  }
  return region.key;
}

// Under a device's lock it places no packet, so the memory is the caller's again when this returns.
void Shards::deregister_memory(Key key) {
  const MutexLock registering(memory_mutex_);
  for (const std::shared_ptr<Device>& device : devices_) {
    const DeviceLock lock(device->mutex());
    device->endpoint().memory().remove(key);
  }
}

void Shards::try_progress() {
  for (const std::shared_ptr<Device>& device : devices_) device->try_progress();
}

uint32_t Shards::active_mtu() {
  uint32_t mtu = first().max_mtu();
  for (const std::shared_ptr<Device>& device : devices_) mtu = std::min(mtu, device->active_mtu());
  return mtu;
}

void Shards::enable_plane_here(PlaneId plane, bool enabled) {
  for (const std::shared_ptr<Device>& device : devices_) {
    const DeviceLock lock(device->mutex());
    device->enable_plane_locked(plane, enabled);
    device->transmit_locked();
  }
}

void Shards::set_receiver_penalty(uint8_t penalty, bool restore) {
  for (const std::shared_ptr<Device>& device : devices_) {
    const DeviceLock lock(device->mutex());
    device->endpoint().set_receiver_penalty(penalty, restore);
  }
}

// Whether a plane is up is no count: it is where it is up in all.
std::string Shards::stats_text() {
  Statistics sum = first().statistics();
  for (uint32_t shard = 1; shard < size(); ++shard) {
    const Statistics more = devices_[shard]->statistics();
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i].value = sum[i].is_count ? sum[i].value + more[i].value : std::min(sum[i].value, more[i].value);
  }
  return text_of(sum);
}

// The first one's description with the counters of all, and what is different in each. The EVs at the top are those of
// the first one.
std::string Shards::describe_json() {
  using Json = nlohmann::ordered_json;
  std::string text = first().describe_json();
  if (size() == 1) return text;
  Json all = Json::parse(text);
  Json& counters = all["counters"];
  for (uint32_t shard = 0; shard < size(); ++shard) {
    const Json one = shard == 0 ? Json::parse(text) : Json::parse(devices_[shard]->describe_json());
    all["shards"].push_back({{"process_slot", one.at("process_slot")}, {"evs", one.at("evs")}});
    if (shard == 0) continue;
    for (size_t i = 0; i < counters.size(); ++i)
      counters[i]["value"] =
          counters[i].at("value").get<uint64_t>() + one.at("counters").at(i).at("value").get<uint64_t>();
  }
  return all.dump(2, ' ', false, Json::error_handler_t::replace);
}

bool Shards::running() const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](const std::shared_ptr<Device>& device) { return device->running(); });
}

void Shards::stop() {
  for (const std::shared_ptr<Device>& device : devices_) device->stop();
}

// Not analysed: locks that one function takes and another one releases.
void Shards::before_fork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  places_mutex_.lock();
  memory_mutex_.lock();
  for (const std::shared_ptr<Device>& device : devices_) device->mutex().lock();
}

void Shards::after_fork(bool child) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (const std::shared_ptr<Device>& device : devices_) {
    if (child) device->inherit();
    device->mutex().unlock();
  }
  memory_mutex_.unlock();
  places_mutex_.unlock();
}

}  // namespace mrc::device
