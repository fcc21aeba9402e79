// Completion queue and completion channel of the application. Completions are put in by pump() and by calls that flush
// or match; polling takes them out, and pumps when there are none.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <memory>

#include "mutex.h"
#include "objects/context.h"
#include "objects/event_fd.h"

namespace mrc::shim {

class Cq;

class Channel {
 public:
  explicit Channel(Context* context);
  ~Channel();
  static Channel* of(ibv_comp_channel* channel) { return reinterpret_cast<Handle*>(channel)->self; }
  ibv_comp_channel* verbs() { return &handle_.base; }
  Context* context() const { return context_; }

  // 0 or an errno value. Blocks unless the descriptor is O_NONBLOCK, and makes progress while it does.
  [[nodiscard]] int get(Cq** cq);

  EventQueue<Cq*> events;
  std::atomic<int> users{0};

 private:
  struct Handle {
    ibv_comp_channel base;
    Channel* self;
  };
  Cq* take();  // null: no event waits
  Context* const context_;
  Handle handle_;
};

class Cq {
 public:
  static constexpr int kMaxCqe = 1 << 20;

  Cq(Context* context, int cqe, void* cq_context, Channel* channel, uint64_t wc_flags);
  ~Cq();
  static Cq* of(ibv_cq* cq) { return reinterpret_cast<Handle*>(cq)->self; }
  static Cq* of(ibv_cq_ex* cq) { return reinterpret_cast<Handle*>(cq)->self; }
  ibv_cq* verbs() { return reinterpret_cast<ibv_cq*>(&handle_.base); }
  ibv_cq_ex* verbs_ex() { return &handle_.base; }
  Context* context() const { return context_; }
  Channel* channel() const { return channel_; }

  int poll(int max, ibv_wc* out);
  // False: it is full. The completion is lost, and the queue pair with it.
  bool push(const ibv_wc& wc, BaseQp* owner, uint32_t slots, bool solicited) ABSL_LOCKS_EXCLUDED(mutex_);
  void purge(const BaseQp* owner) ABSL_LOCKS_EXCLUDED(mutex_);
  void arm(bool solicited_only) ABSL_LOCKS_EXCLUDED(mutex_);  // without an effect if it has no channel
  int resize(int cqe) ABSL_LOCKS_EXCLUDED(mutex_);
  void acknowledge(unsigned n);
  void forget_events();

  EventCount channel_events, async_events;
  std::atomic<int> users{0};  // queue pairs, once per direction
  bool mark_overrun() { return !overrun_.exchange(true); }
  const ibv_wc& current() const { return current_; }  // of the ibv_cq_ex interface
  int next();                                         // 0, or ENOENT

 private:
  struct Handle {
    ibv_cq_ex base;
    Cq* self;
  };
  struct Entry {
    ibv_wc wc;
    BaseQp* owner;
    uint32_t slots;
  };
  enum class Arm : uint8_t { kNot, kSolicited, kAny };

  int take(int max, ibv_wc* out) ABSL_LOCKS_EXCLUDED(mutex_);
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void set_arm(Arm arm) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Context* const context_;
  Channel* const channel_;
  Mutex mutex_;
  uint64_t size_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Entry[]> ring_ ABSL_GUARDED_BY(mutex_);
  uint64_t head_ ABSL_GUARDED_BY(mutex_) = 0, tail_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> count_{0};  // written under the mutex
  Arm arm_ ABSL_GUARDED_BY(mutex_) = Arm::kNot;
  std::atomic<bool> overrun_{false};
  ibv_wc current_{};
  Handle handle_;
};

// poll_ex.cc: the ibv_cq_ex functions.
void fill_poll_functions(ibv_cq_ex* cq, uint64_t wc_flags);

}  // namespace mrc::shim
