#include "mailbox/outbox.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "mrc_soft.h"

namespace mrc::shim {

Outbox::Outbox(Link* link, uint32_t slots, uint32_t id, uint8_t* staging, uint32_t staging_key)
    : link_(link),
      slots_(slots),
      id_(static_cast<uint64_t>(id) << 32),
      staging_(staging),
      staging_key_(staging_key),
      marks_(slots),
      waiting_(new Waiting[kMaxWaiting]) {}

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
  if (waits()) return keep(requests);
  ibv_send_wr* bad = requests;
  const int error = link_->post(requests, &bad);
  return error == 0 || (error == ENOMEM && keep(bad));
}

// Copied with their lists of memory, which may be on the caller's stack.
bool Outbox::keep(const ibv_send_wr* list) {
  const bool first = !waits();
  if (first) waiting_head_ = waiting_tail_ = 0;
  for (; list != nullptr; list = list->next) {
    if (waiting_tail_ == kMaxWaiting || list->num_sge > static_cast<int>(kMaxSegments + 1)) return false;
    Waiting& to = waiting_[waiting_tail_++];
    to.wr = *list;
    std::copy_n(list->sg_list, list->num_sge, to.sges);
    to.wr.sg_list = to.sges;
    to.wr.next = nullptr;
  }
  if (first) link_->count_timer(1);
  return true;
}

bool Outbox::retry() {
  while (waits()) {
    ibv_send_wr* bad = nullptr;
    const int error = link_->post(&waiting_[waiting_head_].wr, &bad);
    if (error == ENOMEM) return true;
    if (error != 0) {
      drop();
      own_in_flight_ = 0;  // nothing will complete any more
      return false;
    }
    if (++waiting_head_ == waiting_tail_) link_->count_timer(-1);
  }
  return true;
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

bool Outbox::note(const Immediate& immediate, Loan loan) {
  const uint64_t mark = marks_tail_;
  if (!note(immediate)) return false;
  if (loan != nullptr) loans_[loans_tail_++ % kWindow] = {mark, std::move(loan)};
  return true;
}

bool Outbox::test_peer() {
  if (marks_head_ != marks_tail_ || room() == 0) return true;
  ibv_send_wr wr{};
  wr.wr_id = wr_id(kTest);
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.rkey = MRC_SOFT_MAILBOX_RKEY;
  return post(&wr, 1);
}

void Outbox::lend_to_the_end(Loan loan) {
  const auto end = last_loans_.begin() + last_loans_count_;
  if (loan == nullptr || end == last_loans_.end() || std::find(last_loans_.begin(), end, loan) != end) return;
  *end = std::move(loan);
  ++last_loans_count_;
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

void Outbox::drop() {
  if (waits()) link_->count_timer(-1);
  waiting_head_ = waiting_tail_ = 0;
  while (loans_head_ != loans_tail_) return_loan();
  while (last_loans_count_ > 0) last_loans_[--last_loans_count_].reset();
}

void Outbox::on_completion(uint32_t slot) {
  if (marks_head_ == marks_tail_) return;
  if (loans_head_ != loans_tail_ && loans_[loans_head_ % kWindow].mark == marks_head_) return_loan();
  released_ = marks_[marks_head_++ % slots_];
  if (slot == kInternal && own_in_flight_ > 0) --own_in_flight_;
}

void Outbox::reset() {
  drop();
  posted_ = released_ = marks_head_ = marks_tail_ = 0;
  own_in_flight_ = 0;
}

}  // namespace mrc::shim
