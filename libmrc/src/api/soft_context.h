// An opened software device: the object behind the ibv_context that mrc_soft_open_device returns.
//
// The ibv_context is the last member of a verbs_context, as libibverbs' inline functions expect of an extended one.
// Our contexts are recognised by address alone, so foreign ones are never dereferenced.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "api/endpoint_ops.h"
#include "api/public.h"
#include "api/qp_attr.h"
#include "device/shards.h"
#include "fd.h"
#include "mutex.h"

namespace mrc::api {

class SoftContext final : public device::DeviceObserver {
 public:
  // Of a context of ours or a handle of one; null for any other (or closed).
  static SoftContext* of(const ibv_context* context);
  // Null and errno.
  static SoftContext* open(ibv_device* device);
  // 0, or EBUSY, or EINVAL for a foreign context.
  static int close(ibv_context* context);
  // 0, or an errno value: see mrc_soft.h.
  [[nodiscard]] static int add_handle(const ibv_context* context, const ibv_context* handle);
  static int remove_handle(const ibv_context* handle);
  ~SoftContext();

  ibv_context* verbs() { return &verbs_.context; }
  device::Shards& shards() const { return *shards_; }
  device::Device& device() const { return shards_->first(); }
  const ModifyLimits& limits() const { return limits_; }

  // Planes by port number, 1-based and valid.
  bool plane_enabled(uint8_t port) ABSL_LOCKS_EXCLUDED(device::device_lock);  // by administration
  bool plane_works(uint8_t port) ABSL_LOCKS_EXCLUDED(device::device_lock);    // and has a link
  void enable_plane(uint8_t port, bool enabled) ABSL_LOCKS_EXCLUDED(device::device_lock);

  // Protection domains, handles and MRC contexts keep the context open.
  void add_child() { children_.fetch_add(1); }
  void remove_child() { children_.fetch_sub(1); }
  void add(mrc_context* context) ABSL_LOCKS_EXCLUDED(mutex_);
  void remove(mrc_context* context) ABSL_LOCKS_EXCLUDED(mutex_);

  // CQs for EV events: notified of the changes of all EV profiles of the device.
  void add_ev_cq(mrc_cq* cq) ABSL_LOCKS_EXCLUDED(mutex_);
  void remove_ev_cq(mrc_cq* cq) ABSL_LOCKS_EXCLUDED(mutex_);  // not used any more when this returns

  // From the device, with its lock held.
  void on_port_event(PlaneId plane, core::AsyncEvent event) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock);
  void on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock) {
    endpoint_ops_.on_response(id, plane, rtt);
  }
  void on_ev_change(const ctl::EvChange& change, uint64_t losses) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock);

  EndpointOps& endpoint_ops(uint32_t shard) { return shard == 0 ? endpoint_ops_ : others_[shard - 1]->endpoint_ops; }

 private:
  // A shard other than the first one, whose ports are the same, and which gets its changes of EVs.
  struct OtherShard final : device::DeviceObserver {
    explicit OtherShard(device::Device& device) : observation(device, this) {}
    void on_port_event(PlaneId, core::AsyncEvent) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock) {}
    void on_endpoint_response(uint16_t id, PlaneId plane, Duration rtt) override
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(device::device_lock) {
      endpoint_ops.on_response(id, plane, rtt);
    }

    EndpointOps endpoint_ops;
    const device::Observation observation;  // last: what it calls is there before it and after it
  };

  SoftContext(std::shared_ptr<device::Shards> shards, ibv_device* verbs_device, Fd async_fd);
  bool made_from(const ibv_context* handle)
      ABSL_LOCKS_EXCLUDED(mutex_);  // true if an MRC context was made through this handle

  const std::shared_ptr<device::Shards> shards_;
  ModifyLimits limits_;
  Fd async_fd_;
  std::atomic<int> children_{0};
  Mutex mutex_;  // taken after a device's lock
  std::vector<mrc_context*> contexts_ ABSL_GUARDED_BY(mutex_);
  std::vector<mrc_cq*> ev_cqs_ ABSL_GUARDED_BY(mutex_);
  EndpointOps endpoint_ops_;  // of the first shard
  verbs_context verbs_;
  const device::Observation observation_;  // of the first shard; of what it calls all is above
  std::vector<std::unique_ptr<OtherShard>> others_;
};

// ops.cc: fills the functions of a context that libibverbs' inlines call unchecked.
void fill_ops(verbs_context* verbs);

}  // namespace mrc::api
