// Receive requests of one queue pair, or of a shared receive queue: a ring with a lock of its own.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>
#include <vector>

#include "mailbox/link.h"
#include "mutex.h"
#include "objects/context.h"

namespace mrc::shim {

class ReceiveQueue {
 public:
  ReceiveQueue(uint32_t max_wr, uint32_t max_sge);
  // 0, EINVAL or ENOMEM.
  int push(const ibv_recv_wr& wr) ABSL_LOCKS_EXCLUDED(mutex_);
  bool pop(Receive* out) ABSL_LOCKS_EXCLUDED(mutex_);
  uint32_t size() ABSL_LOCKS_EXCLUDED(mutex_);
  uint32_t max_wr() const { return max_wr_; }
  uint32_t max_sge() const { return max_sge_; }

 private:
  struct Entry {
    uint64_t wr_id;
    int num_sge;
  };
  const uint32_t max_wr_;
  const uint32_t max_sge_;
  Mutex mutex_;
  const std::unique_ptr<Entry[]> ring_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<ibv_sge[]> sges_ ABSL_GUARDED_BY(mutex_);
  uint64_t head_ ABSL_GUARDED_BY(mutex_) = 0, tail_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Shared receive queue.
class Srq {
 public:
  Srq(Context* context, ibv_pd* pd, void* srq_context, const ibv_srq_attr& attr);
  ~Srq();
  static Srq* of(ibv_srq* srq) { return reinterpret_cast<Handle*>(srq)->self; }
  ibv_srq* verbs() { return &handle_.base; }
  Context* context() const { return context_; }
  ReceiveQueue& queue() { return queue_; }

  int post(ibv_recv_wr* wr, ibv_recv_wr** bad) ABSL_LOCKS_EXCLUDED(mutex_);
  bool take(Receive* out, Qp* who) ABSL_LOCKS_EXCLUDED(mutex_);  // false: `who` continues when there is one
  void forget(Qp* who) ABSL_LOCKS_EXCLUDED(mutex_);
  int modify(const ibv_srq_attr& attr, int mask) ABSL_LOCKS_EXCLUDED(mutex_);
  ibv_srq_attr query() ABSL_LOCKS_EXCLUDED(mutex_);

  EventCount async_events;
  std::atomic<int> users{0};

 private:
  struct Handle {
    ibv_srq base;
    Srq* self;
  };
  Context* const context_;
  ReceiveQueue queue_;
  Mutex mutex_;
  uint32_t limit_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Qp*> waiting_ ABSL_GUARDED_BY(mutex_);
  Handle handle_;
};

}  // namespace mrc::shim
