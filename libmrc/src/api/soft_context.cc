#include "api/soft_context.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>

#include "api/context.h"
#include "api/errors.h"
#include "api/limits.h"
#include "api/soft_devices.h"
#include "device/registry.h"

namespace mrc::api {

namespace {

// Every open context of the process.
std::mutex open_mutex;
std::unordered_map<const ibv_context*, SoftContext*>& open_contexts() {
  // Never destroyed: programs close their devices from destructors that run at exit.
  static auto* contexts = new std::unordered_map<const ibv_context*, SoftContext*>;
  return *contexts;
}

ModifyLimits limits_of(const device::Device& device) {
  ModifyLimits limits;
  const core::QpAttr defaults = device.default_qp_attr();
  limits.max_mpr = std::max<uint8_t>(kMaxMpr, std::max(defaults.mpr, defaults.mpr_dest));
  limits.max_wimm = std::max<uint16_t>(kMaxWimm, defaults.max_wimm);
  limits.max_wimm_dest = std::max<uint16_t>(kMaxWimm, defaults.max_wimm_dest);
  limits.max_mtu = device.max_mtu();
  const std::vector<IpAddress>& gids = device.config().gids;
  limits.gids = static_cast<int>(gids.size());
  for (size_t i = 0; i < gids.size() && i < 64; ++i)
    if (!gids[i].is_zero()) limits.usable_gids |= uint64_t{1} << i;
  const device::Settings& settings = device.config().settings;
  limits.trimmed_dscps = uint64_t{1} << settings.dscp_trimmed | uint64_t{1} << settings.dscp_trimmed_lasthop;
  return limits;
}

}  // namespace

SoftContext::SoftContext(std::shared_ptr<device::Device> device, ibv_device* verbs_device, int async_fd)
    : device_(std::move(device)), limits_(limits_of(*device_)) {
  std::memset(&verbs_, 0, sizeof verbs_);
  verbs_.sz = sizeof verbs_;
  ibv_context& c = verbs_.context;
  c.device = verbs_device;
  c.cmd_fd = -1;
  c.async_fd = async_fd;
  c.num_comp_vectors = kCompVectors;
  c.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&c.mutex, nullptr);
  fill_ops(&verbs_);
  device_->add_observer(this);
}

SoftContext::~SoftContext() {
  device_->remove_observer(this);
  pthread_mutex_destroy(&verbs_.context.mutex);
  ::close(verbs_.context.async_fd);
}

SoftContext* SoftContext::of(const ibv_context* context) {
  std::lock_guard lock(open_mutex);
  auto it = open_contexts().find(context);
  return it == open_contexts().end() ? nullptr : it->second;
}

SoftContext* SoftContext::open(ibv_device* device) {
  std::string why;
  int error = ENODEV;
  std::shared_ptr<device::Device> started;
  if (is_soft_device(device)) started = device::open_device(device->name, &why, &error);
  if (!started) {
    if (!why.empty()) std::fprintf(stderr, "mrc: %s\n", why.c_str());
    return null_with(error);
  }
  const int async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  if (async_fd < 0) return nullptr;
  auto* made = new SoftContext(std::move(started), device, async_fd);
  std::lock_guard lock(open_mutex);
  open_contexts()[made->verbs()] = made;
  return made;
}

int SoftContext::close(ibv_context* context) {
  SoftContext* soft = of(context);
  if (soft == nullptr) return EINVAL;
  if (soft->children_.load() > 0) return EBUSY;
  {
    std::lock_guard lock(open_mutex);
    if (open_contexts().erase(context) == 0) return EINVAL;
  }
  delete soft;
  return 0;
}

bool SoftContext::plane_enabled(uint8_t port) {
  std::lock_guard lock(device_->mutex());
  return device_->endpoint().plane_up(static_cast<uint8_t>(port - 1));
}

void SoftContext::enable_plane(uint8_t port, bool enabled) {
  std::lock_guard lock(device_->mutex());
  device_->endpoint().set_plane_up(device_->now(), static_cast<uint8_t>(port - 1), enabled);
  device_->transmit_locked();
}

void SoftContext::add(mrc_context* context) {
  std::lock_guard lock(mutex_);
  contexts_.push_back(context);
  add_child();
}

void SoftContext::remove(mrc_context* context) {
  std::lock_guard lock(mutex_);
  auto found = std::find(contexts_.begin(), contexts_.end(), context);
  if (found == contexts_.end()) return;
  contexts_.erase(found);
  remove_child();
}

void SoftContext::on_port_event(uint8_t plane, core::AsyncEvent event) {
  mrc_async_event out{};
  out.element.port_num = plane + 1;
  out.event_type = event == core::AsyncEvent::kPortUp ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
  std::lock_guard lock(mutex_);
  for (mrc_context* context : contexts_) context->async.raise(out);
}

}  // namespace mrc::api

using mrc::api::errno_value;
using mrc::api::SoftContext;

extern "C" {

ibv_context* mrc_soft_open_device(ibv_device* device) {
  if (device == nullptr) return mrc::api::null_with(EINVAL);
  return mrc::api::or_enomem<ibv_context*>(nullptr, [&]() -> ibv_context* {
    SoftContext* soft = SoftContext::open(device);
    return soft != nullptr ? soft->verbs() : nullptr;
  });
}

int mrc_soft_close_device(ibv_context* context) {
  const int error = SoftContext::close(context);
  return error == 0 ? 0 : errno_value(error);
}

int mrc_soft_is_soft_context(const ibv_context* context) {
  return SoftContext::of(context) != nullptr;
}

}  // extern "C"
