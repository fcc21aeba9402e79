// BaseQp: a queue pair as the other objects of the shim know it: the handle that programs have, and the calls of
// programs, completion queues and the pump. Of connections (queue_pair.h) and of datagrams (datagram_qp.h).
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>

#include "mutex.h"
#include "objects/context.h"
#include "objects/event_fd.h"

namespace mrc::shim {

class Cq;
class Pd;
class Srq;

class BaseQp {
 public:
  static constexpr uint32_t kMaxWr = 16000;
  static constexpr uint32_t kMaxSge = 15;  // one place of MRC's sixteen is for the header of a message
  static constexpr uint32_t kMaxInline = 960;

  static BaseQp* of(ibv_qp* qp) { return reinterpret_cast<Handle*>(qp)->self; }
  static BaseQp* of(ibv_qp_ex* qp) { return reinterpret_cast<Handle*>(qp)->self; }
  BaseQp(const BaseQp&) = delete;
  BaseQp& operator=(const BaseQp&) = delete;
  ibv_qp* verbs() { return &handle_.base.qp_base; }
  ibv_qp_ex* verbs_ex() { return &handle_.base; }
  Context* context() const { return context_; }
  bool has_wr_interface() const { return handle_.base.wr_start != nullptr; }
  void raise(ibv_event_type type);

  // Calls of verbs; errno values.
  virtual int post_send(ibv_send_wr* wr, ibv_send_wr** bad) ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  virtual int post_all(ibv_send_wr* wr) ABSL_LOCKS_EXCLUDED(mutex_) = 0;  // all of the list or none
  virtual int post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad) ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  virtual int modify(const ibv_qp_attr& attr, int mask) ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  void query(ibv_qp_attr* attr, ibv_qp_init_attr* init) ABSL_LOCKS_EXCLUDED(mutex_);
  virtual int destroy() = 0;  // deletes it
  // Multicast groups are for datagrams.
  virtual int attach_mcast(const union ibv_gid&) ABSL_LOCKS_EXCLUDED(mutex_) { return EINVAL; }
  virtual int detach_mcast(const union ibv_gid&) ABSL_LOCKS_EXCLUDED(mutex_) { return EINVAL; }
  // Slots of the send queue are free; any thread.
  virtual void release_slots(uint32_t n) = 0;

  // From Context::pump, under its lock. Completions of one batch come between begin() and end().
  void begin() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_) { mutex_.lock(); }
  virtual void dispatch(const ibv_wc& wc) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  virtual void end() ABSL_UNLOCK_FUNCTION(mutex_) = 0;
  virtual void serve() ABSL_LOCKS_EXCLUDED(mutex_) = 0;  // what was deferred
  virtual void tick(uint64_t now) ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  virtual uint64_t deadline() ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  // Called about once a second; true while a request waits for the peer's answer.
  virtual bool keep_alive() ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  // MRC's queue pair has failed, for another reason than a request of its own; its completions have been served.
  virtual void on_mrc_event(ibv_event_type /*type*/) ABSL_LOCKS_EXCLUDED(mutex_) {}
  virtual bool settled() ABSL_LOCKS_EXCLUDED(mutex_) = 0;  // nothing is owed to the peer
  virtual void abandon() ABSL_LOCKS_EXCLUDED(mutex_) {}    // READs and atomics of the peer that wait are refused
  bool deferred = false;                                   // guarded by the context
  EventCount async_events;

 protected:
  struct Handle {
    ibv_qp_ex base;
    BaseQp* self;
  };
  BaseQp(Context* context, const ibv_qp_init_attr_ex& init);
  virtual ~BaseQp();
  void fill_handle(uint32_t qpn);
  void set_state(ibv_qp_state to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { state_ = handle_.base.qp_base.state = to; }
  void forget_async_events();

  Context* const context_;
  const ibv_qp_init_attr_ex init_;
  Pd* const pd_;
  Cq* const send_cq_;
  Cq* const recv_cq_;
  Srq* const srq_;  // null: it has receive requests of its own
  Mutex mutex_;
  ibv_qp_attr attr_ ABSL_GUARDED_BY(mutex_){};
  ibv_qp_state state_ ABSL_GUARDED_BY(mutex_) = IBV_QPS_RESET;
  Handle handle_;
};

// wr_interface.cc: the ibv_wr_* functions.
void fill_wr_functions(ibv_qp_ex* qp, uint64_t send_ops);
uint64_t supported_send_ops(ibv_qp_type type);

}  // namespace mrc::shim
