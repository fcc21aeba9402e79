// Queue pair: an MRC queue pair, the two halves of the message protocol on it, receive requests, attributes and state
// as verbs has them. RC and UC; both are carried the same way.
//
// Everything is under the queue pair's lock but release_slots().
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "mailbox/answered_messages.h"
#include "mailbox/link.h"
#include "mailbox/outbox.h"
#include "mailbox/requester.h"
#include "mailbox/responder.h"
#include "objects/base_qp.h"
#include "objects/completion_queue.h"
#include "objects/mailbox_memory.h"
#include "objects/memory.h"
#include "objects/mrc_queue_pair.h"
#include "objects/receive_queue.h"

namespace mrc::shim {

class Qp final : public BaseQp, public Link {
 public:
  static constexpr uint32_t kMaxReads = 16;  // READs and atomics in flight

  static BaseQp* create(Context* context, const ibv_qp_init_attr_ex* init);  // null and errno

  int post_send(ibv_send_wr* wr, ibv_send_wr** bad) override ABSL_LOCKS_EXCLUDED(mutex_);
  int post_all(ibv_send_wr* wr) override ABSL_LOCKS_EXCLUDED(mutex_);
  int post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad) override ABSL_LOCKS_EXCLUDED(mutex_);
  int modify(const ibv_qp_attr& attr, int mask) override ABSL_LOCKS_EXCLUDED(mutex_);
  int destroy() override;
  // Not analysed: an atomic count, given back by polling without the lock.
  void release_slots(uint32_t n) override ABSL_NO_THREAD_SAFETY_ANALYSIS { requester_->release(n); }

  void dispatch(const ibv_wc& wc) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void end() override ABSL_UNLOCK_FUNCTION(mutex_);
  void serve() override ABSL_LOCKS_EXCLUDED(mutex_);
  void tick(uint64_t now) override ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t deadline() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool keep_alive() override ABSL_LOCKS_EXCLUDED(mutex_);
  void on_mrc_event(ibv_event_type type) override ABSL_LOCKS_EXCLUDED(mutex_);
  bool settled() override ABSL_LOCKS_EXCLUDED(mutex_);
  void abandon() override ABSL_LOCKS_EXCLUDED(mutex_);
  bool confirmed() ABSL_LOCKS_EXCLUDED(mutex_);  // every confirmation is on its way

  // Link; the halves call these with the lock held.
  int post(ibv_send_wr* list, ibv_send_wr** bad) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void complete_send(const ibv_wc& wc, uint32_t slots) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void complete_receive(const ibv_wc& wc, bool solicited) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool take_receive(Receive* out) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<uint32_t> take_confirmation() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return responder_->take_confirmation();
  }
  bool completion_due() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return requester_->completion_due(); }
  void fail(std::optional<ibv_event_type> event) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void report_gone(const Access& access) override;
  void count_timer(int by) override { context_->count_timer(by); }

 private:
  static constexpr uint32_t kMaxImmediates = 256;  // receive requests that MRC holds for WRITEs WITH IMMEDIATE

  Qp(Context* context, const ibv_qp_init_attr_ex& init);
  ~Qp() override;
  bool make() ABSL_LOCKS_EXCLUDED(mutex_);
  bool make_mrc(MrcQp* mrc);
  void make_halves(uint32_t qpn);
  uint32_t completions() const;
  uint64_t tag() const { return static_cast<uint64_t>(id_) << 32; }  // of wr_ids: the queue pair that they belong to
  int validate(const ibv_qp_attr& attr, int mask, ibv_qp_state to) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int modify_mrc(const ibv_qp_attr& attr, int mask) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int change(const ibv_qp_attr& attr, int mask) ABSL_LOCKS_EXCLUDED(mutex_);
  void finish_error_state() ABSL_LOCKS_EXCLUDED(mutex_);
  void store_attributes(const ibv_qp_attr& attr, int mask) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void enter(ibv_qp_state to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_, context_->pump_mutex());
  void reset() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_, context_->pump_mutex());
  void post_mrc_receives(uint32_t n) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void enter_error_state() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void fail_mrc() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void flush_receives() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool fail_by_lost_memory() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void overrun(Cq* cq) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void note_answers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void check() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t mrc_slots_;     // of MRC's send queue
  const uint32_t mrc_receives_;  // receive requests that MRC holds
  uint32_t id_ = UINT32_MAX;     // of the context
  MailboxMemory memory_;
  MrcQp mrc_ ABSL_GUARDED_BY(mutex_);
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;              // timers of other queue pairs visit it before
  bool mrc_error_pending_ ABSL_GUARDED_BY(mutex_) = false;  // until the last message has gone out
  bool awaits_event_ ABSL_GUARDED_BY(mutex_) = false;       // of MRC's queue pair, with the reason why it has failed
  std::unique_ptr<ReceiveQueue> receives_;
  std::unique_ptr<Outbox> outbox_ ABSL_PT_GUARDED_BY(mutex_);
  std::unique_ptr<Requester> requester_ ABSL_PT_GUARDED_BY(mutex_);
  std::unique_ptr<Responder> responder_ ABSL_PT_GUARDED_BY(mutex_);
  AnsweredMessages answered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mrc::shim
