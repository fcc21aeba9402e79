#include "mailbox/outbox.h"

#include <cerrno>
#include <utility>

#include "invariant.h"
#include "mrc_soft.h"

namespace mrc::shim {

namespace {

bool is_own(const ibv_send_wr& wr) {
  return (wr.send_flags & IBV_SEND_SIGNALED) != 0 && static_cast<uint32_t>(wr.wr_id) == Outbox::kInternal;
}

}  // namespace

bool Outbox::post(ibv_send_wr* requests, uint32_t n) {
  const Checked checked(this);
  if (n == 0) return true;
  for (uint32_t i = 0; i < n; ++i) {
    requests[i].next = i + 1 < n ? &requests[i + 1] : nullptr;
    slots_.post((requests[i].send_flags & IBV_SEND_SIGNALED) != 0);
    if (is_own(requests[i])) ++own_in_flight_;
  }
  if (waits_for_memory()) return keep_unposted(requests);
  ibv_send_wr* bad = requests;
  const int error = link_->post(requests, &bad);
  if (error == 0 || (error == ENOMEM && keep_unposted(bad))) return true;
  for (; bad != nullptr; bad = bad->next)  // will not complete
    if (is_own(*bad)) --own_in_flight_;
  return false;
}

bool Outbox::keep_unposted(const ibv_send_wr* list) {
  const bool waited = waits_for_memory();
  const bool kept = unposted_.add(list);
  if (!waited && waits_for_memory()) link_->count_timer(1);
  return kept;
}

bool Outbox::retry() {
  const Checked checked(this);
  while (waits_for_memory()) {
    ibv_send_wr* bad = nullptr;
    const int error = link_->post(unposted_.front(), &bad);
    if (error == ENOMEM) return true;
    if (error != 0) {
      drop();
      own_in_flight_ = 0;  // nothing will complete any more
      return false;
    }
    unposted_.pop();
    if (!waits_for_memory()) link_->count_timer(-1);
  }
  return true;
}

// A signalled message of the protocol to the peer's mailbox.
ibv_send_wr Outbox::message(uint32_t slot, ibv_wr_opcode opcode) const {
  ibv_send_wr wr{};
  wr.wr_id = wr_id(slot);
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma.rkey = MRC_SOFT_MAILBOX_RKEY;
  return wr;
}

bool Outbox::note(const Immediate& immediate) {
  if (room() == 0 && (immediate.note != Note::kRefused || slots_.room(0) == 0)) return false;
  ibv_send_wr wr = message(kInternal, IBV_WR_RDMA_WRITE_WITH_IMM);
  wr.imm_data = pack(immediate);
  return post(&wr, 1);
}

bool Outbox::note(const Immediate& immediate, Loan loan) {
  const uint64_t request = slots_.next_signalled();
  if (!note(immediate)) return false;
  lent_.add(request, std::move(loan));
  return true;
}

bool Outbox::test_peer() {
  if (slots_.awaits_completion() || room() == 0) return true;
  ibv_send_wr wr = message(kTest, IBV_WR_RDMA_WRITE);
  return post(&wr, 1);
}

bool Outbox::reply(const Immediate& immediate, uint32_t bytes) {
  if (room() == 0) return false;
  ibv_sge sge = staging_.sge(staging_.reply(immediate.number), bytes);
  ibv_send_wr wr = message(kInternal, IBV_WR_RDMA_WRITE_WITH_IMM);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.imm_data = pack(immediate);
  wr.wr.rdma.remote_addr = reply_offset(immediate.number);
  return post(&wr, 1);
}

void Outbox::drop() {
  if (waits_for_memory()) link_->count_timer(-1);
  unposted_.clear();
  lent_.clear();
}

void Outbox::on_completion(uint32_t slot, ibv_wc_status status) {
  const Checked checked(this);
  failed_ |= status != IBV_WC_SUCCESS;
  if (slot == kInternal && own_in_flight_ > 0) --own_in_flight_;
  if (slots_.awaits_completion()) lent_.complete(slots_.complete());
}

void Outbox::reset() {
  drop();
  slots_.reset();
  own_in_flight_ = 0;
  failed_ = false;
  check();
}

void Outbox::check() const {
  if constexpr (!kCheckInvariants) return;
  slots_.check();
  lent_.check();
  unposted_.check();
  MRC_INVARIANT(failed_ || own_in_flight_ <= slots_.awaited_completions());
}

}  // namespace mrc::shim
