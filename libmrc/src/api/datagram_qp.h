// Datagram queue pairs of mrc_soft.h, and their shared receive queues: the caller's attributes around the engine's QP.
// [API-UD-1..5]
//
// datagram_qp.cc creates, changes and destroys them, datagram_post.cc posts, multicast.cc attaches to groups.
#pragma once

#include <atomic>
#include <memory>

#include "api/public.h"
#include "api/soft_memory.h"
#include "base/ids.h"
#include "base/ip.h"
#include "core/datagram.h"
#include "core/datagram_receive_queue.h"
#include "device/device.h"
#include "send_slots.h"

struct mrc_soft_ud_srq {
  mrc_soft_ud_srq(ibv_pd* pd, uint32_t max_wr, uint32_t max_sge);

  const mrc::api::PdHold pd;
  mrc::api::SoftContext* const soft;
  const uint32_t max_sge;
  mrc::core::DatagramReceiveQueue queue ABSL_GUARDED_BY(mrc::device::device_lock);
  std::atomic<int> users{0};  // queue pairs
};

struct mrc_soft_ud_qp final : mrc::core::QpSink {
 public:
  mrc_soft_ud_qp(mrc_context* context, const mrc_soft_ud_init_attr& init);
  ~mrc_soft_ud_qp();

  // These take the device's lock and return 0 or an errno value.
  [[nodiscard]] int start() ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  void stop() ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  int attach(const mrc::IpAddress& group) ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  int detach(const mrc::IpAddress& group) ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);
  bool attached() const ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);  // to any group
  int modify(const ibv_qp_attr& attr, int mask) ABSL_LOCKS_EXCLUDED(mrc::device::device_lock);

  mrc::device::Device& device() const;
  mrc_context* context() const { return context_; }
  mrc::core::DatagramQp* engine() const { return engine_; }
  mrc::Qpn qpn() const { return qpn_; }
  const mrc_soft_ud_init_attr& init() const { return init_; }
  mrc::SendSlots& slots() { return slots_; }

  // From the engine, with the device's lock held.
  bool on_completion(const mrc::core::Completion& c) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock);
  // A failure is the application's own, and its completion is the notification.
  void on_event(mrc::core::AsyncEvent) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mrc::device::device_lock) {}

 private:
  void purge_completions();

  mrc_context* const context_;
  mrc_soft_ud_init_attr init_;
  const mrc::api::PdHold pd_;
  const uint32_t pd_id_;
  std::unique_ptr<mrc::core::DatagramReceiveQueue> own_receives_ ABSL_PT_GUARDED_BY(mrc::device::device_lock);
  mrc::core::DatagramQp* engine_ = nullptr;  // set by start(); the object behind it is guarded by the device's lock
  mrc::core::DatagramAttr attr_ ABSL_GUARDED_BY(mrc::device::device_lock);
  mrc::Qpn qpn_;
  mrc::SendSlots slots_;
};
