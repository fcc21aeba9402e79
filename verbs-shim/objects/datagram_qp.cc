#include "objects/datagram_qp.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "interpose/out_of_memory.h"
#include "objects/verbs_ops.h"

namespace mrc::shim {

namespace {

uint32_t power_of_two(uint32_t n) {
  uint32_t p = 1;
  while (p < n) p *= 2;
  return p;
}

ibv_qp_init_attr_ex with_minima(const ibv_qp_init_attr_ex& init) {
  ibv_qp_init_attr_ex all = init;
  for (uint32_t* n : {&all.cap.max_send_wr, &all.cap.max_recv_wr, &all.cap.max_send_sge, &all.cap.max_recv_sge})
    *n = std::max(*n, 1u);
  return all;
}

}  // namespace

DatagramQp::DatagramQp(Context* context, const ibv_qp_init_attr_ex& init)
    : BaseQp(context, with_minima(init)),
      sends_(power_of_two(init_.cap.max_send_wr)),
      receives_(power_of_two(init_.cap.max_recv_wr)) {}

DatagramQp::~DatagramQp() {
  if (mrc_ != nullptr) context_->api().mrc_soft_destroy_ud_qp(mrc_);
  if (id_ != UINT32_MAX) {  // the making of it failed half-way
    const MutexLock pump(context_->pump_mutex());
    context_->remove(id_, completions());
  }
}

bool DatagramQp::make() {
  ibv_port_attr port;
  if (query_port(context_->verbs(), 1, &port) != 0) return false;
  mtu_ = 128u << port.active_mtu;
  id_ = context_->add(this, completions());
  if (id_ == UINT32_MAX) return false;
  mrc_soft_ud_init_attr init{};
  init.pd = init_.pd;
  init.srq = srq_ != nullptr ? srq_->datagrams() : nullptr;
  init.send_cq = init.recv_cq = context_->pump_queue().cq();
  init.cap = init_.cap;
  init.sq_sig_all = init_.sq_sig_all;
  mrc_ = context_->api().mrc_soft_create_ud_qp(context_->mrc(), &init);
  if (mrc_ == nullptr) return false;
  fill_handle(context_->api().mrc_soft_ud_qpn(mrc_));
  if (srq_ != nullptr) context_->add_number(handle_.base.qp_base.qp_num, this);
  return true;
}

BaseQp* DatagramQp::create(Context* context, ibv_qp_init_attr_ex* init) {
  std::unique_ptr<DatagramQp, void (*)(DatagramQp*)> qp(new DatagramQp(context, *init),
                                                        [](DatagramQp* q) { delete q; });
  if (!qp->make()) {
    const int error = errno;
    qp.reset();
    errno = error != 0 ? error : ENOMEM;
    return nullptr;
  }
  init->cap = qp->init_.cap;
  return qp.release();
}

void DatagramQp::return_shared_receives() {
  if (srq_ == nullptr) return;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  context_->api().mrc_soft_modify_ud_qp(mrc_, &attr, IBV_QP_STATE);
  context_->drain();
  const MutexLock lock(mutex_);
  ending_ = false;
}

// [VRB-UD-6]
int DatagramQp::attach_mcast(const union ibv_gid& gid) {
  return or_enomem<int>(ENOMEM, [&] {
    const MutexLock lock(mutex_);
    const auto [place, added] = groups_.insert(std::to_array(gid.raw));
    const int error = context_->api().mrc_soft_attach_mcast(mrc_, &gid);
    if (error != 0 && added) groups_.erase(place);
    return error;
  });
}

int DatagramQp::detach_mcast(const union ibv_gid& gid) {
  const MutexLock lock(mutex_);
  if (const int error = context_->api().mrc_soft_detach_mcast(mrc_, &gid)) return error;
  groups_.erase(std::to_array(gid.raw));
  return 0;
}

int DatagramQp::destroy() {
  {
    const MutexLock lock(mutex_);
    if (!groups_.empty()) return errno = EBUSY;
  }
  {
    const MutexLock pump(context_->pump_mutex());
    return_shared_receives();
    if (const int error = context_->api().mrc_soft_destroy_ud_qp(mrc_)) return error;
    mrc_ = nullptr;
    if (srq_ != nullptr) context_->remove_number(handle_.base.qp_base.qp_num);
    context_->remove(id_, completions());
    id_ = UINT32_MAX;
    send_cq_->purge(this);
    recv_cq_->purge(this);
  }
  forget_async_events();
  delete this;
  return 0;
}

// 0, or an errno value. Slots are the application's until it has polled; libmrc's are free a little earlier.
int DatagramQp::post_one(const ibv_send_wr& wr) {
  if (sends_.full() || !slots_.take(init_.cap.max_send_wr)) return ENOMEM;
  ibv_send_wr copy = wr;
  copy.next = nullptr;
  copy.wr_id = tagged(sends_.put(wr.wr_id));
  ibv_send_wr* bad;
  const int error = context_->api().mrc_soft_post_ud_send(mrc_, &copy, &bad);
  if (error != 0) {
    sends_.take_back();
    slots_.release(1);
  }
  return error;
}

int DatagramQp::post_send(ibv_send_wr* wr, ibv_send_wr** bad) {
  const MutexLock lock(mutex_);
  for (; wr != nullptr; wr = wr->next) {
    if (const int error = post_one(*wr)) {
      if (bad != nullptr) *bad = wr;
      return error;
    }
  }
  return 0;
}

int DatagramQp::post_all(ibv_send_wr* wr) {
  const MutexLock lock(mutex_);
  uint32_t count = 0;
  for (const ibv_send_wr* w = wr; w != nullptr; w = w->next) {
    ++count;
    uint64_t bytes = 0;
    for (int i = 0; i < w->num_sge; ++i) bytes += w->sg_list[i].length;
    if (w->wr.ud.ah == nullptr || static_cast<uint32_t>(w->num_sge) > init_.cap.max_send_sge || bytes > mtu_ ||
        ((w->send_flags & IBV_SEND_INLINE) != 0 && bytes > init_.cap.max_inline_data))
      return EINVAL;
  }
  if (!slots_.has_room(count, init_.cap.max_send_wr)) return ENOMEM;
  for (; wr != nullptr; wr = wr->next)
    if (const int error = post_one(*wr)) return error;
  return 0;
}

int DatagramQp::post_recv(ibv_recv_wr* wr, ibv_recv_wr** bad) {
  const MutexLock lock(mutex_);
  for (; wr != nullptr; wr = wr->next) {
    int error = srq_ != nullptr ? EINVAL : receives_.full() ? ENOMEM : 0;
    if (error == 0) {
      ibv_recv_wr copy = *wr;
      copy.next = nullptr;
      copy.wr_id = tagged(receives_.put(wr->wr_id));
      ibv_recv_wr* refused;
      error = context_->api().mrc_soft_post_ud_recv(mrc_, &copy, &refused);
      if (error != 0) receives_.take_back();
    }
    if (error != 0) {
      if (bad != nullptr) *bad = wr;
      return error;
    }
  }
  return 0;
}

void DatagramQp::push(Cq* cq, const ibv_wc& wc, uint32_t slots, bool solicited) {
  if (cq->push(wc, this, slots, solicited)) return;
  release_slots(slots);
  if (!cq->mark_overrun()) return;
  ibv_async_event event{};
  event.element.cq = cq->verbs();
  event.event_type = IBV_EVENT_CQ_ERR;
  context_->raise(event);
}

void DatagramQp::dispatch(const ibv_wc& in) {
  ibv_wc wc = in;
  const bool received = (in.opcode & IBV_WC_RECV) != 0;
  uint32_t covered = 0;
  if (received && srq_ != nullptr)
    srq_->on_datagram();
  else
    wc.wr_id = (received ? receives_ : sends_).take(static_cast<uint32_t>(in.wr_id), &covered);
  if (ending_) return;
  wc.vendor_err = 0;
  if (in.status != IBV_WC_SUCCESS && state_ != IBV_QPS_ERR) {
    set_state(IBV_QPS_ERR);
    if (srq_ != nullptr) raise(IBV_EVENT_QP_LAST_WQE_REACHED);
  }
  push(received ? recv_cq_ : send_cq_, wc, received ? 0 : covered, in.vendor_err == MRC_SOFT_UD_SOLICITED);
}

int DatagramQp::modify(const ibv_qp_attr& attr, int mask) {
  const MutexLock pump(context_->pump_mutex());  // RESET takes completions out from under it
  if ((mask & IBV_QP_STATE) != 0 && attr.qp_state == IBV_QPS_RESET) return_shared_receives();
  const MutexLock lock(mutex_);
  if ((mask & IBV_QP_PORT) != 0 && attr.port_num != 1) return EINVAL;
  if (const int error = context_->api().mrc_soft_modify_ud_qp(mrc_, &attr, mask)) return error;
  if ((mask & IBV_QP_PKEY_INDEX) != 0) attr_.pkey_index = attr.pkey_index;
  if ((mask & IBV_QP_PORT) != 0) attr_.port_num = attr.port_num;
  if ((mask & IBV_QP_QKEY) != 0) attr_.qkey = attr.qkey;
  if ((mask & IBV_QP_SQ_PSN) != 0) attr_.sq_psn = attr.sq_psn;
  if ((mask & IBV_QP_STATE) == 0) return 0;
  const ibv_qp_state from = state_;
  set_state(attr.qp_state);
  if (state_ == IBV_QPS_ERR && from != IBV_QPS_ERR && srq_ != nullptr) raise(IBV_EVENT_QP_LAST_WQE_REACHED);
  if (state_ == IBV_QPS_RESET) {
    attr_ = ibv_qp_attr{};
    send_cq_->purge(this);
    recv_cq_->purge(this);
    sends_.clear();
    receives_.clear();
    slots_.clear();
  } else if (state_ == IBV_QPS_RTR) {
    context_->start_progress();
  }
  return 0;
}

}  // namespace mrc::shim
