#include "mailbox/outbox.h"

#include "mrc_soft.h"

namespace mrc::shim {

Outbox::Outbox(Link* link, uint32_t slots, uint32_t id, uint8_t* staging, uint32_t staging_key)
    : link_(link),
      slots_(slots),
      id_(static_cast<uint64_t>(id) << 32),
      staging_(staging),
      staging_key_(staging_key),
      marks_(slots) {}

bool Outbox::post(ibv_send_wr* requests, uint32_t n) {
  if (n == 0) return true;
  for (uint32_t i = 0; i < n; ++i) {
    requests[i].next = i + 1 < n ? &requests[i + 1] : nullptr;
    ++posted_;
    if ((requests[i].send_flags & IBV_SEND_SIGNALED) != 0) {
      marks_[marks_tail_++ % slots_] = posted_;
      if (static_cast<uint32_t>(requests[i].wr_id) == kInternal) ++own_in_flight_;
    }
  }
  ibv_send_wr* bad = nullptr;
  return link_->post(requests, &bad) == 0;
}

bool Outbox::note(const Immediate& immediate) {
  if (room() == 0 && (immediate.note != Note::kRefused || posted_ - released_ >= slots_)) return false;
  ibv_send_wr wr{};
  wr.wr_id = wr_id(kInternal);
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.imm_data = pack(immediate);
  wr.wr.rdma.rkey = MRC_SOFT_MAILBOX_RKEY;
  return post(&wr, 1);
}

bool Outbox::reply(const Immediate& immediate, uint32_t bytes) {
  if (room() == 0) return false;
  ibv_sge sge = {reinterpret_cast<uint64_t>(reply_staging(immediate.number)), bytes, staging_key_};
  ibv_send_wr wr{};
  wr.wr_id = wr_id(kInternal);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.imm_data = pack(immediate);
  wr.wr.rdma.remote_addr = reply_offset(immediate.number);
  wr.wr.rdma.rkey = MRC_SOFT_MAILBOX_RKEY;
  return post(&wr, 1);
}

void Outbox::on_completion(uint32_t slot) {
  if (marks_head_ == marks_tail_) return;
  released_ = marks_[marks_head_++ % slots_];
  if (slot == kInternal && own_in_flight_ > 0) --own_in_flight_;
}

void Outbox::reset() {
  posted_ = released_ = marks_head_ = marks_tail_ = 0;
  own_in_flight_ = 0;
}

}  // namespace mrc::shim
