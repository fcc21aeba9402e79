// Receive requests of one queue pair, or of a shared receive queue: a ring with a lock of its own. The requests of a
// shared receive queue of datagram queue pairs are in libmrc, which places datagrams.
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
  [[nodiscard]] int push(const ibv_recv_wr& wr) ABSL_LOCKS_EXCLUDED(mutex_);
  bool pop(Receive* out) ABSL_LOCKS_EXCLUDED(mutex_);
  uint32_t size() ABSL_LOCKS_EXCLUDED(mutex_);
  uint32_t max_wr() ABSL_LOCKS_EXCLUDED(mutex_);
  // 0, or EINVAL: more requests are waiting.
  [[nodiscard]] int resize(uint32_t max_wr) ABSL_LOCKS_EXCLUDED(mutex_);
  uint32_t max_sge() const { return max_sge_; }

 private:
  struct Entry {
    uint64_t wr_id;
    int num_sge;
  };
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t max_sge_;
  Mutex mutex_;
  uint32_t max_wr_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Entry[]> ring_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<ibv_sge[]> sges_ ABSL_GUARDED_BY(mutex_);
  uint64_t head_ ABSL_GUARDED_BY(mutex_) = 0, tail_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Shared receive queue: of connections or of datagram queue pairs, as the first one decides. [VRB-UD-5]
class Srq {
 public:
  Srq(Context* context, ibv_pd* pd, void* srq_context, const ibv_srq_attr& attr);
  ~Srq();
  static Srq* of(ibv_srq* srq) { return reinterpret_cast<Handle*>(srq)->self; }
  ibv_srq* verbs() { return &handle_.base; }
  Context* context() const { return context_; }
  ReceiveQueue& queue() { return queue_; }

  // Before a queue pair is made: an errno value if it is of the other kind.
  [[nodiscard]] int claim(bool datagrams) ABSL_LOCKS_EXCLUDED(mutex_);
  mrc_soft_ud_srq* datagrams() ABSL_LOCKS_EXCLUDED(mutex_);
  void on_datagram() ABSL_LOCKS_EXCLUDED(mutex_);  // the completion of a request was taken from libmrc
  [[nodiscard]] int post(ibv_recv_wr* wr, ibv_recv_wr** bad) ABSL_LOCKS_EXCLUDED(mutex_);
  bool take(Receive* out, BaseQp* qp) ABSL_LOCKS_EXCLUDED(mutex_);  // false: `qp` continues when there is one
  void forget(BaseQp* qp) ABSL_LOCKS_EXCLUDED(mutex_);
  [[nodiscard]] int modify(const ibv_srq_attr& attr, int mask) ABSL_LOCKS_EXCLUDED(mutex_);
  ibv_srq_attr query() ABSL_LOCKS_EXCLUDED(mutex_);

  EventCount async_events;
  std::atomic<int> users{0};

 private:
  struct Handle {
    ibv_srq base;
    Srq* self;
  };
  int post_datagram(const ibv_recv_wr& wr) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int serve_datagrams() ABSL_EXCLUSIVE_LOCKS_REQUIRED(context_->pump_mutex(), mutex_);
  void compare_limit(uint32_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void check() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Context* const context_;
  ReceiveQueue queue_;
  Mutex mutex_;
  uint32_t limit_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<BaseQp*> waiting_ ABSL_GUARDED_BY(mutex_);
  bool connections_ ABSL_GUARDED_BY(mutex_) = false;              // the kind is decided
  mrc_soft_ud_srq* datagrams_ ABSL_GUARDED_BY(mutex_) = nullptr;  // libmrc's; the other kind is decided
  uint32_t posted_datagrams_ ABSL_GUARDED_BY(mutex_) = 0;         // whose completion was not taken
  Handle handle_;
};

}  // namespace mrc::shim
