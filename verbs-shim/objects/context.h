// An opened device: the ibv_context that the application holds, the software device and the MRC context behind it, and
// the MRC completion queue of everything posted here. pump() takes completions out of it
// and passes them to queue pairs, which pass the application's own to the application's completion queues.
//
// The application's ibv_context is a handle of the software device's: MRC functions take it, too, wherever the program
// takes them from. [VRB-MRC-1]
//
// Lock order: pump, queue pair, shared receive queue, completion queue, events.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "mailbox/key_table.h"
#include "mutex.h"
#include "objects/completion_room.h"
#include "objects/event_fd.h"
#include "objects/pump_queue.h"
#include "objects/qp_table.h"
#include "objects/soft_device.h"
#include "progress/application_activity.h"
#include "progress/deferred_list.h"
#include "progress/forks.h"
#include "progress/progress_handle.h"
#include "progress/settle_limit.h"
#include "provider/provider.h"

namespace mrc::shim {

class BaseQp;
enum class CompletionKind : uint8_t;

class Context {
 public:
  // Null and errno.
  static Context* open(ibv_device* device);
  // EBUSY while MRC contexts exist that were made from it; 0 regardless of remaining verbs objects, of which the queue
  // pairs are in the error state then.
  static int close(Context* context);
  static bool is_ours(const ibv_context* context);
  static Context* of(const ibv_context* context);  // of one of ours
  // Pending answers to peers are sent before the process ends, and what is not answered any more is refused.
  static void settle_all();

  ibv_context* verbs() { return &handle_.verbs.context; }
  ibv_context* soft() const { return device_.soft(); }
  mrc_context* mrc() const { return device_.mrc(); }
  const Provider& api() const { return device_.api(); }
  const PumpQueue& pump_queue() const { return pump_queue_; }
  KeyTable& keys() { return keys_; }
  // This is a copy in a child of fork: nothing moves in it, and requests are refused. [VRB-FRK-1]
  bool inherited() const { return fork_generation_.inherited(); }

  // Completions are taken and served, unless another thread does it (`wait`: after it). Bounded work; true when
  // there were any.
  bool pump(bool wait = false) ABSL_LOCKS_EXCLUDED(pump_mutex_);
  // The same for the application's calls: the progress thread stays away while there are some.
  void poll() {
    activity_.count_poll();
    pump();
  }
  // The queue pair has work at the next pump(): confirmations to send, receive requests to return. Wakes
  // a progress thread that sleeps.
  void defer(BaseQp* qp);
  // Queue pairs that waited for a receive request continue.
  void resume(std::vector<BaseQp*>* waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_);
  Mutex& pump_mutex() ABSL_LOCK_RETURNED(pump_mutex_) { return pump_mutex_; }

  // Queue pairs by the number in the upper half of their wr_ids.
  uint32_t add(BaseQp* qp, uint32_t completions)
      ABSL_LOCKS_EXCLUDED(pump_mutex_);  // makes room for its completions; UINT32_MAX and errno
  void remove(uint32_t id, uint32_t completions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_);
  // Room for the completions of a shared receive queue: 0, or an errno value.
  [[nodiscard]] int reserve(uint32_t completions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_);
  void unreserve(uint32_t completions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_) { room_.release(completions); }
  // Datagram queue pairs on a shared receive queue, whose requests do not know the queue pair, by their own number.
  void add_number(uint32_t qpn, BaseQp* qp) ABSL_LOCKS_EXCLUDED(pump_mutex_);
  void remove_number(uint32_t qpn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_) { qps_.remove_number(qpn); }
  // Serves all completions that there are. The caller holds no queue pair's lock.
  void drain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_);
  void count_child(int by) { children_.fetch_add(by); }
  void start_progress() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_);
  void wake_progress();
  ApplicationActivity& activity() { return activity_; }
  // Around a thread's sleep in ibv_get_cq_event.
  void begin_wait();
  void end_wait();
  // For the progress thread, after it has set its sleep flag: no work is left, and since `waits` no thread has
  // taken events.
  bool may_sleep(uint64_t waits) { return deferred_.empty() && activity_.waits() == waits; }

  EventQueue<ibv_async_event> async{/*shared=*/true};
  void raise(const ibv_async_event& event) { async.raise(event); }
  // From the MRC library to ours.
  void take_mrc_events() ABSL_LOCKS_EXCLUDED(pump_mutex_);
  bool port_active() const { return device_.port_active(); }  // some plane is in service
  SettleLimit settle_limit;                                   // of settle_one_of_many()
  // Queue pairs with a running timer (receiver not ready).
  void count_timer(int by) { timers_.fetch_add(by); }

  static uint64_t now();                                 // monotonic, nanoseconds
  uint64_t deadline() ABSL_LOCKS_EXCLUDED(pump_mutex_);  // of the earliest timer; UINT64_MAX: none
  // Tests the peers of queue pairs that wait for an answer; true while there are such. [VRB-REQ-7]
  bool keep_alive() ABSL_LOCKS_EXCLUDED(pump_mutex_);
  bool settled() ABSL_LOCKS_EXCLUDED(pump_mutex_);  // no answer to a peer is pending
  void settle();

 private:
  struct Handle {
    Context* self;
    void* growth[32];     // null: a newer rdma-core adds functions in front of its verbs_context
    verbs_context verbs;  // last: programs reach the verbs_context from the ibv_context at its end
  };

  Context(const Provider& api, ibv_device* device, ibv_context* soft);
  ~Context();
  bool start();
  bool serve_deferred() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_);
  void dispatch(const ibv_wc* wcs, int n) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_);
  void dispatch_kind(CompletionKind kind, const ibv_wc* wcs, int n) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_);
  void abandon() ABSL_LOCKS_EXCLUDED(pump_mutex_);
  void disconnect() ABSL_LOCKS_EXCLUDED(pump_mutex_);
  void stop_progress() ABSL_LOCKS_EXCLUDED(pump_mutex_);
  void on_port_event();
  void on_qp_event(uint32_t qpn, ibv_event_type type) ABSL_LOCKS_EXCLUDED(pump_mutex_);
  void fill_handle(ibv_device* device);
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(pump_mutex_);

  const ForkGeneration fork_generation_;
  SoftDevice device_;
  PumpQueue pump_queue_;
  KeyTable keys_;
  ApplicationActivity activity_;
  std::atomic<int> children_{0};
  std::atomic<int> timers_{0};

  Mutex pump_mutex_;
  QpTable qps_ ABSL_GUARDED_BY(pump_mutex_);
  CompletionRoom room_ ABSL_GUARDED_BY(pump_mutex_){PumpQueue::kFirstEntries};  // of the pump queue
  DeferredList<BaseQp> deferred_;                                               // served under the pump mutex
  ProgressHandle progress_;                                                     // starts and ends under the pump mutex
  Handle handle_;
};

// verbs_ops.cc: the functions that programs reach through the context without a symbol.
void fill_ops(verbs_context* verbs);

}  // namespace mrc::shim
