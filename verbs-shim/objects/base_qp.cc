#include "objects/base_qp.h"

#include <cstring>

#include "objects/completion_queue.h"
#include "objects/memory.h"
#include "objects/receive_queue.h"

namespace mrc::shim {

BaseQp::BaseQp(Context* context, const ibv_qp_init_attr_ex& init)
    : context_(context),
      init_(init),
      pd_(Pd::of(init.pd)),
      send_cq_(Cq::of(init.send_cq)),
      recv_cq_(Cq::of(init.recv_cq)),
      srq_(init.srq != nullptr ? Srq::of(init.srq) : nullptr) {
  ++pd_->users;
  ++send_cq_->users;
  ++recv_cq_->users;
  if (srq_ != nullptr) ++srq_->users;
  std::memset(static_cast<void*>(&handle_), 0, sizeof handle_);
  handle_.self = this;
  context_->count_child(1);
}

BaseQp::~BaseQp() {
  if (srq_ != nullptr) --srq_->users;
  --recv_cq_->users;
  --send_cq_->users;
  --pd_->users;
  context_->count_child(-1);
  if (handle_.base.qp_base.context == nullptr) return;
  pthread_mutex_destroy(&handle_.base.qp_base.mutex);
  pthread_cond_destroy(&handle_.base.qp_base.cond);
}

void BaseQp::fill_handle(uint32_t qpn) {
  ibv_qp& q = handle_.base.qp_base;
  q.context = context_->verbs();
  q.qp_context = init_.qp_context;
  q.pd = init_.pd;
  q.send_cq = init_.send_cq;
  q.recv_cq = init_.recv_cq;
  q.srq = init_.srq;
  q.handle = qpn;
  q.qp_num = qpn;
  q.state = IBV_QPS_RESET;
  q.qp_type = init_.qp_type;
  pthread_mutex_init(&q.mutex, nullptr);
  pthread_cond_init(&q.cond, nullptr);
  if ((init_.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) fill_wr_functions(&handle_.base, init_.send_ops_flags);
}

void BaseQp::query(ibv_qp_attr* attr, ibv_qp_init_attr* init) {
  const MutexLock lock(mutex_);
  *attr = attr_;
  attr->qp_state = attr->cur_qp_state = state_;
  attr->path_mig_state = IBV_MIG_MIGRATED;
  attr->cap = init_.cap;
  if (attr->port_num == 0) attr->port_num = 1;
  std::memset(init, 0, sizeof *init);
  init->qp_context = init_.qp_context;
  init->send_cq = init_.send_cq;
  init->recv_cq = init_.recv_cq;
  init->srq = init_.srq;
  init->cap = init_.cap;
  init->qp_type = init_.qp_type;
  init->sq_sig_all = init_.sq_sig_all;
}

void BaseQp::raise(ibv_event_type type) {
  ibv_async_event event{};
  event.element.qp = verbs();
  event.event_type = type;
  context_->raise(event);
}

void BaseQp::forget_async_events() {
  context_->async.forget(&async_events, [this](const ibv_async_event& e) {
    return e.event_type != IBV_EVENT_CQ_ERR && e.event_type != IBV_EVENT_PORT_ACTIVE &&
           e.event_type != IBV_EVENT_PORT_ERR && e.event_type != IBV_EVENT_SRQ_LIMIT_REACHED && e.element.qp == verbs();
  });
}

}  // namespace mrc::shim
