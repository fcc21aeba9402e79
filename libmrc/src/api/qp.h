// Queue pair of the C API: the caller's attributes, around the engine's QP. Settings and the engine's QP are guarded by
// the device's lock; the counts of taken send slots and of answered messages are atomic, because they change without
// that lock.
//
// qp.cc creates and destroys it and has the callbacks, qp_modify.cc changes and reads attributes, post.cc posts.
#pragma once

#include <atomic>
#include <cstdint>

#include "api/public.h"
#include "api/qp_attr.h"
#include "api/soft_memory.h"
#include "base/ids.h"
#include "base/ip.h"
#include "device/device.h"
#include "device/profiles.h"
#include "send_slots.h"

namespace mrc::api {

// What names the peer of a queue pair.
struct Destination {
  IpAddress dgid;
  Qpn qpn;
};

}  // namespace mrc::api

struct mrc_qp final : mrc::core::QpSink {
 public:
  // `full`: shards where there is no room for it, a bit for each; not all. Throws std::bad_alloc.
  mrc_qp(mrc_context* context, const mrc_qp_init_attr& init, uint64_t full);
  ~mrc_qp();

  // These take the device's lock and return 0 or an errno value.
  [[nodiscard]] int start() ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  void stop() ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  int modify(const ibv_qp_attr* verbs, int verbs_mask, const mrc_qp_attr* attr, int mask)
      ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  [[nodiscard]] int set_mailbox(void* addr, size_t length, uint64_t wr_id)
      ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);  // EINVAL once packets may arrive
  void query(ibv_qp_attr* verbs, mrc_qp_attr* attr, int mrc_mask, mrc_qp_init_attr* init)
      ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);

  mrc_context* context() const { return context_; }
  mrc::device::Device& device() const { return device_; }  // its shard
  uint32_t shard() const { return place_.shard(); }
  mrc::core::Qp* engine() const { return engine_; }
  mrc::core::PeerId peer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) { return peer_; }
  mrc::api::Destination destination() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock);  // with a peer
  mrc::Qpn qpn() const { return qpn_; }
  const ibv_qp_cap& cap() const { return init_.cap; }
  bool signal_all() const { return init_.sq_sig_all != 0; }
  uint64_t send_ops() const { return init_.send_ops_flags; }

  mrc::SendSlots& slots() { return slots_; }

  // From the engine, with the device's lock held.
  bool on_completion(const mrc::core::Completion& c) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock);
  void on_event(mrc::core::AsyncEvent event) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock);
  uint32_t mailbox_answered() const override { return mailbox_answered_.load(std::memory_order_relaxed); }
  void set_mailbox_answered(uint32_t count) { mailbox_answered_.store(count, std::memory_order_relaxed); }

 private:
  void use_hint(mrc_qp_hint* hint) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock);
  void purge_completions();

  mrc_context* const context_;
  const mrc::device::Place place_;
  mrc::device::Device& device_;
  mrc_qp_init_attr init_;
  const mrc::api::PdHold pd_;
  mrc::api::QpSettings settings_ ABSL_GUARDED_BY(mrc::device::device_lock);
  mrc::core::Qp* engine_ = nullptr;  // set by start(); the object behind it is guarded by the device's lock
  mrc::core::PeerId peer_ ABSL_GUARDED_BY(mrc::device::device_lock) = mrc::core::kNoPeer;
  mrc::device::DeviceProfiles::Hold profiles_ ABSL_GUARDED_BY(mrc::device::device_lock);
  mrc::Qpn qpn_;
  mrc::SendSlots slots_;
  std::atomic<uint32_t> mailbox_answered_{0};
};
