// Queue pair of the C API: the caller's attributes, around the engine's QP. Settings and the engine's QP are guarded by
// the device's lock; the count of taken send slots is atomic, because polling frees slots without that lock.
//
// qp.cc creates and destroys it and has the callbacks, qp_modify.cc changes and reads attributes, post.cc posts.
#pragma once

#include <atomic>
#include <cstdint>

#include "api/public.h"
#include "api/qp_attr.h"
#include "api/soft_memory.h"
#include "base/ids.h"
#include "device/device.h"
#include "device/profiles.h"

struct mrc_qp final : mrc::device::QpObserver {
 public:
  mrc_qp(mrc_context* context, const mrc_qp_init_attr& init);
  ~mrc_qp();

  // These take the device's lock and return 0 or an errno value.
  int start() ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  void stop() ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  int modify(const ibv_qp_attr* verbs, int verbs_mask, const mrc_qp_attr* attr, int mask)
      ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  int set_mailbox(void* addr, size_t length, uint64_t wr_id)
      ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);  // EINVAL once packets may arrive
  void query(ibv_qp_attr* verbs, mrc_qp_attr* attr, int mrc_mask, mrc_qp_init_attr* init)
      ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);

  mrc_context* context() const { return context_; }
  mrc::device::Device& device() const;
  mrc::core::Qp* engine() const { return engine_; }
  mrc::core::PeerId peer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) { return peer_; }
  mrc::Qpn qpn() const { return qpn_; }
  const ibv_qp_cap& cap() const { return init_.cap; }
  bool signal_all() const { return init_.sq_sig_all != 0; }
  uint64_t send_ops() const { return init_.send_ops_flags; }

  // A slot is occupied by posting and freed when a completion that covers it has been polled [API-POST-3].
  bool take_send_slot() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) {
    if (slots_taken_.load(std::memory_order_acquire) >= init_.cap.max_send_wr) return false;
    slots_taken_.fetch_add(1, std::memory_order_relaxed);  // posting is serialised by the device's lock
    return true;
  }
  void release_send_slots(uint32_t n) { slots_taken_.fetch_sub(n, std::memory_order_release); }

  // From the engine, with the device's lock held.
  bool on_completion(const mrc::core::Completion& c) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock);
  void on_event(mrc::core::AsyncEvent event) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock);

 private:
  void use_hint(mrc_qp_hint* hint) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock);
  void purge_completions();

  mrc_context* const context_;
  mrc_qp_init_attr init_;
  const mrc::api::PdHold pd_;
  mrc::api::QpSettings settings_ ABSL_GUARDED_BY(mrc::device::device_lock);
  mrc::core::Qp* engine_ = nullptr;  // set by start(); the object behind it is guarded by the device's lock
  mrc::core::PeerId peer_ ABSL_GUARDED_BY(mrc::device::device_lock) = mrc::core::kNoPeer;
  mrc::device::DeviceProfiles::Hold profiles_ ABSL_GUARDED_BY(mrc::device::device_lock);
  mrc::Qpn qpn_;
  std::atomic<uint32_t> slots_taken_{0};
};
