#include "api/soft_context.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "api/context.h"
#include "api/cq.h"
#include "api/errors.h"
#include "api/held_at_fork.h"
#include "api/limits.h"
#include "api/soft_devices.h"
#include "device/registry.h"

namespace mrc::api {

namespace {

// Every open context of the process, and the handles of each.
Mutex open_mutex;
std::unordered_map<const ibv_context*, SoftContext*>& open_contexts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(open_mutex) {
  // Never destroyed: programs close their devices from destructors that run at exit.
  static auto* contexts = new std::unordered_map<const ibv_context*, SoftContext*>;
  return *contexts;
}

[[gnu::constructor]] void hold_contexts_at_fork() {
  hold_at_fork<open_mutex>();
}

ModifyLimits limits_of(const device::Device& device) {
  ModifyLimits limits;
  const core::QpAttr defaults = device.default_qp_attr();
  limits.max_mpr = std::max<uint8_t>(kMaxMpr, std::max(defaults.mpr, defaults.mpr_dest));
  limits.max_wimm = std::max<uint16_t>(kMaxWimm, defaults.max_wimm);
  limits.max_wimm_dest = std::max<uint16_t>(kMaxWimm, defaults.max_wimm_dest);
  limits.max_mtu = device.max_mtu();
  limits.reserved_dscps = reserved_dscps(device.config().settings);
  const std::vector<IpAddress>& gids = device.config().gids;
  limits.gids = static_cast<int>(gids.size());
  for (size_t i = 0; i < gids.size() && i < 64; ++i)
    if (!gids[i].is_zero()) limits.usable_gids |= uint64_t{1} << i;
  return limits;
}

}  // namespace

SoftContext::SoftContext(std::shared_ptr<device::Shards> shards, ibv_device* verbs_device, Fd async_fd)
    : shards_(std::move(shards)),
      limits_(limits_of(shards_->first())),
      async_fd_(std::move(async_fd)),
      observation_(shards_->first(), this) {
  for (uint32_t shard = 1; shard < shards_->size(); ++shard)
    others_.push_back(std::make_unique<OtherShard>((*shards_)[shard]));
  std::memset(&verbs_, 0, sizeof verbs_);
  verbs_.sz = sizeof verbs_;
  ibv_context& c = verbs_.context;
  c.device = verbs_device;
  c.cmd_fd = -1;
  c.async_fd = async_fd_.get();
  c.num_comp_vectors = kCompVectors;
  c.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&c.mutex, nullptr);
  fill_ops(&verbs_);
}

SoftContext::~SoftContext() {
  pthread_mutex_destroy(&verbs_.context.mutex);
}

// [API-DEV-1]
SoftContext* SoftContext::of(const ibv_context* context) {
  const MutexLock lock(open_mutex);
  auto it = open_contexts().find(context);
  return it == open_contexts().end() ? nullptr : it->second;
}

SoftContext* SoftContext::open(ibv_device* device) {
  if (!is_soft_device(device)) return null_with(ENODEV);
  Result<std::shared_ptr<device::Shards>> started = device::open_device(device->name);  // logs its failures
  if (!started) return null_with(started.error().code);
  Fd async_fd(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
  if (!async_fd) return nullptr;
  std::unique_ptr<SoftContext> made(new SoftContext(*std::move(started), device, std::move(async_fd)));
  const MutexLock lock(open_mutex);
  open_contexts()[made->verbs()] = made.get();
  return made.release();
}

int SoftContext::close(ibv_context* context) {
  SoftContext* soft = of(context);
  if (soft == nullptr || soft->verbs() != context) return EINVAL;
  if (soft->device().inherited()) return 0;
  if (soft->children_.load() > 0) return EBUSY;
  {
    const MutexLock lock(open_mutex);
    if (open_contexts().erase(context) == 0) return EINVAL;
  }
  delete soft;
  return 0;
}

// [API-HND-1]
int SoftContext::add_handle(const ibv_context* context, const ibv_context* handle) {
  const MutexLock lock(open_mutex);
  auto it = open_contexts().find(context);
  if (handle == nullptr || it == open_contexts().end()) return EINVAL;
  SoftContext* const soft = it->second;
  if (!open_contexts().try_emplace(handle, soft).second) return EINVAL;
  soft->add_child();
  return 0;
}

int SoftContext::remove_handle(const ibv_context* handle) {
  const MutexLock lock(open_mutex);
  auto it = open_contexts().find(handle);
  if (it == open_contexts().end() || it->second->verbs() == handle) return EINVAL;
  if (it->second->device().inherited()) return 0;  // and the lock of its contexts may be the parent's
  if (it->second->made_from(handle)) return EBUSY;
  it->second->remove_child();
  open_contexts().erase(it);
  return 0;
}

bool SoftContext::made_from(const ibv_context* handle) {
  const MutexLock lock(mutex_);
  return std::any_of(contexts_.begin(), contexts_.end(),
                     [&](const mrc_context* context) { return context->made_from() == handle; });
}

// [API-DEV-4]
bool SoftContext::plane_enabled(uint8_t port) {
  const device::DeviceLock lock(device().mutex());
  return device().plane_enabled_locked(plane_of_port(port));
}

bool SoftContext::plane_works(uint8_t port) {
  const device::DeviceLock lock(device().mutex());
  return device().endpoint().plane_up(plane_of_port(port));
}

void SoftContext::enable_plane(uint8_t port, bool enabled) {
  shards_->enable_plane_here(plane_of_port(port), enabled);
}

void SoftContext::add(mrc_context* context) {
  const MutexLock lock(mutex_);
  contexts_.push_back(context);
  add_child();
}

void SoftContext::remove(mrc_context* context) {
  const MutexLock lock(mutex_);
  auto found = std::find(contexts_.begin(), contexts_.end(), context);
  if (found == contexts_.end()) return;
  contexts_.erase(found);
  remove_child();
}

void SoftContext::on_port_event(PlaneId plane, core::AsyncEvent event) {
  mrc_async_event out{};
  out.element.port_num = port_of(plane);
  out.event_type = event == core::AsyncEvent::kPortUp ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
  const MutexLock lock(mutex_);
  for (mrc_context* context : contexts_) context->async.raise(out);
}

void SoftContext::add_ev_cq(mrc_cq* cq) {
  const MutexLock lock(mutex_);
  ev_cqs_.push_back(cq);
}

void SoftContext::remove_ev_cq(mrc_cq* cq) {
  const MutexLock lock(mutex_);
  ev_cqs_.erase(std::remove(ev_cqs_.begin(), ev_cqs_.end(), cq), ev_cqs_.end());
}

void SoftContext::on_ev_change(const ctl::EvChange& change, uint64_t losses) {
  const MutexLock lock(mutex_);
  for (mrc_cq* cq : ev_cqs_)
    if (cq->ev_events->push(change, losses)) cq->notify();
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

int mrc_soft_add_context_handle(ibv_context* context, ibv_context* handle) {
  return mrc::api::or_enomem<int>(ENOMEM, [&] {
    const int error = SoftContext::add_handle(context, handle);
    return error == 0 ? 0 : errno_value(error);
  });
}

int mrc_soft_remove_context_handle(ibv_context* handle) {
  const int error = SoftContext::remove_handle(handle);
  return error == 0 ? 0 : errno_value(error);
}

}  // extern "C"
