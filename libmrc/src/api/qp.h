// Queue pair of the C API: what the caller gave, around the engine's QP. Settings and the engine's QP are guarded by
// the device's lock; the count of taken send slots is atomic, because polling gives slots back without that lock.
//
// qp.cc makes and destroys it and hears from the engine, qp_modify.cc changes and reads attributes, post.cc posts.
#pragma once

#include <atomic>
#include <cstdint>

#include "api/public.h"
#include "api/qp_attr.h"
#include "api/soft_memory.h"
#include "device/device.h"
#include "device/profiles.h"

struct mrc_qp final : mrc::device::QpObserver {
 public:
  mrc_qp(mrc_context* context, const mrc_qp_init_attr& init);
  ~mrc_qp();

  // These take the device's lock and return 0 or an errno value.
  int start();
  void stop();
  int modify(const ibv_qp_attr* verbs, int verbs_mask, const mrc_qp_attr* attr, int mask);
  int set_mailbox(void* addr, size_t length, uint64_t wr_id);  // EINVAL once packets may come
  void query(ibv_qp_attr* verbs, mrc_qp_attr* attr, int mrc_mask, mrc_qp_init_attr* init);

  mrc_context* context() const { return context_; }
  mrc::device::Device& device() const;
  mrc::core::Qp* engine() const { return engine_; }
  mrc::core::PeerId peer() const { return peer_; }
  uint32_t qpn() const { return qpn_; }
  const ibv_qp_cap& cap() const { return init_.cap; }
  bool signal_all() const { return init_.sq_sig_all != 0; }
  uint64_t send_ops() const { return init_.send_ops_flags; }

  // A slot is taken by posting and comes back when a completion that covers it has been polled [API-POST-3].
  bool take_send_slot() {
    if (slots_taken_.load(std::memory_order_acquire) >= init_.cap.max_send_wr) return false;
    slots_taken_.fetch_add(1, std::memory_order_relaxed);  // posting is serialised by the device's lock
    return true;
  }
  void release_send_slots(uint32_t n) { slots_taken_.fetch_sub(n, std::memory_order_release); }

  // From the engine, with the device's lock held.
  bool on_completion(const mrc::core::Completion& c) override;
  void on_event(mrc::core::AsyncEvent event) override;

 private:
  void use_hint(mrc_qp_hint* hint);
  void purge_completions();

  mrc_context* const context_;
  mrc_qp_init_attr init_;
  const mrc::api::PdHold pd_;
  mrc::api::QpSettings settings_;
  mrc::core::Qp* engine_ = nullptr;
  mrc::core::PeerId peer_ = mrc::core::kNoPeer;
  mrc::device::DeviceProfiles::Hold profiles_;
  uint32_t qpn_ = 0;
  std::atomic<uint32_t> slots_taken_{0};
};
