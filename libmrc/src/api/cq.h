// Completion queue: a ring of completions for each shard whose QPs complete into it.
//
// A shard pushes while it holds its lock; polling takes only the rings' mutexes, and a shard's lock when all are empty,
// to make progress. Nothing allocates after creation and the first QP of a shard. Lock order: device, then ring or
// arming, then channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "api/completion_ring.h"
#include "api/ev_events.h"
#include "api/public.h"
#include "mutex.h"

namespace mrc::api {

// Events of one CQ; guarded by the channel's mutex.
struct EventState {
  mrc_cq* next = nullptr;
  uint64_t waiting = 0;  // raised, not yet returned to the application
  uint64_t handed_out = 0;
  uint64_t acked = 0;
};

}  // namespace mrc::api

struct mrc_cq {
 public:
  // Throws std::bad_alloc.
  mrc_cq(mrc_context* context, int cqe, void* cq_context, mrc_comp_channel* channel);
  ~mrc_cq();

  mrc_context* context() const { return context_; }
  void* cq_context() const { return cq_context_; }
  mrc_comp_channel* channel() const { return channel_; }

  // Before the first attach() of a shard. Throws std::bad_alloc.
  void prepare(uint32_t shard) ABSL_LOCKS_EXCLUDED(size_mutex_);
  // A QP of the shard completes into this queue; once per direction.
  void attach(uint32_t shard) ABSL_LOCKS_EXCLUDED(arm_mutex_);
  void detach(uint32_t shard) ABSL_LOCKS_EXCLUDED(arm_mutex_);
  bool in_use();

  // False when the ring is full: the completion is lost, and the caller puts the QP in error.
  bool push(uint32_t shard, const ibv_wc& wc, mrc::SendSlots* owner, uint32_t slots, bool solicited);
  // push(), and IBV_EVENT_CQ_ERR for the first completion that is lost. [API-CQ-6]
  bool push_or_overrun(uint32_t shard, const ibv_wc& wc, mrc::SendSlots* owner, uint32_t slots, bool solicited);
  int take(int max, ibv_wc* out);
  // Progress of the shards whose QPs complete into this queue. A polling thread does not wait for another one.
  void progress();
  // 0, or an errno value. Throws std::bad_alloc. If it fails, nothing has changed.
  [[nodiscard]] int resize(int cqe) ABSL_LOCKS_EXCLUDED(size_mutex_);
  // Removes the completions of a QP that is being reset or destroyed.
  void purge(uint32_t shard, const mrc::SendSlots* owner) { ring(shard).purge(owner); }
  void arm(bool solicited_only) ABSL_LOCKS_EXCLUDED(arm_mutex_);
  // Before it is destroyed.
  void disarm() ABSL_LOCKS_EXCLUDED(arm_mutex_);
  bool armed() const { return arm_.load(std::memory_order_relaxed) != Arm::kNot; }
  // Raises the event of an armed queue; any thread.
  void notify() { fire(true); }

  mrc::api::EventState events;
  // Of a CQ for EV events; null for all others. Set before the queue is visible to other threads.
  std::unique_ptr<mrc::api::EvEvents> ev_events;

 private:
  enum class Arm : uint8_t { kNot, kSolicited, kAny };
  class AllRings;
  mrc::api::CompletionRing& ring(uint32_t shard) { return shard == 0 ? ring_ : more_[shard - 1]; }
  void fire(bool solicited) ABSL_LOCKS_EXCLUDED(arm_mutex_);
  void note_armed(uint32_t shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(arm_mutex_);
  void note_disarmed(uint32_t shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(arm_mutex_);
  void check() ABSL_EXCLUSIVE_LOCKS_REQUIRED(arm_mutex_);

  mrc_context* const context_;
  void* const cq_context_;
  mrc_comp_channel* const channel_;
  const uint32_t shards_;
  mrc::Mutex size_mutex_;  // taken before the rings' mutexes
  int cqe_ ABSL_GUARDED_BY(size_mutex_);
  std::atomic<uint32_t> turn_{0};                     // of the shards in take()
  mrc::api::CompletionRing ring_;                     // of the first shard
  std::unique_ptr<mrc::api::CompletionRing[]> more_;  // of the others
  mrc::Mutex arm_mutex_;                              // taken for each event, not for each completion
  std::atomic<Arm> arm_{Arm::kNot};                   // written under it
  uint64_t noted_ ABSL_GUARDED_BY(arm_mutex_) = 0;    // shards whose helpers count this queue as armed, a bit for each
  std::atomic<bool> overrun_{false};
};
