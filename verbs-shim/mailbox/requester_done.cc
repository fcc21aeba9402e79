// The end of requests: completed by MRC, confirmed or refused by the peer, and completions in order. [VRB-REQ-5..6]
#include <algorithm>
#include <cstring>

#include "mailbox/requester.h"

namespace mrc::shim {

namespace {

ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return IBV_WC_SEND;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_RDMA_WRITE;
  }
}

// The memory is written by the answer, and not read.
bool only_receives(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

}  // namespace

uint64_t rnr_time(uint8_t code) {
  static constexpr uint32_t kHundredthsOfMs[32] = {
      65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return static_cast<uint64_t>(kHundredthsOfMs[code & 31]) * 10000;
}

void Requester::on_completion(uint32_t slot, ibv_wc_status status) {
  outbox_->on_completion(slot);
  if (dead_) return;
  const uint64_t index = Outbox::is_internal(slot) ? sent_ : head_ + ((slot - head_) & mask_);
  if (status != IBV_WC_SUCCESS) {
    // Completions come in order, so MRC has completed every WRITE before the first request that fails.
    if (index < sent_) written_ = std::max(written_, index);
    // A peer without a mailbox refuses the key; the requested operation is one that it lacks.
    // [VRB-MBX-3]
    if (index < sent_ && at(index).message && status == IBV_WC_REM_ACCESS_ERR) status = IBV_WC_REM_INV_REQ_ERR;
    uint64_t culprit = index;
    if (slot == Outbox::kTest) {
      culprit = head_;  // [VRB-REQ-7]
    } else if (slot == Outbox::kInternal) {
      culprit = announced_head_ != announced_tail_ ? by_number_[announced_[announced_head_ % kWindow].number % kWindow]
                                                   : head_;
    }
    if (Outbox::is_internal(slot) && status == IBV_WC_REM_ACCESS_ERR) status = IBV_WC_REM_INV_REQ_ERR;
    retire_before(confirmed_end_);
    give_up(std::max(culprit, head_), status);
    return;
  }
  if (Outbox::is_internal(slot) || index >= sent_) return;
  written_ = std::max(written_, index + 1);
  if (at(index).message) at(index).delivered = true;
  retire();
}

uint64_t Requester::extend(uint32_t number) const {
  const uint64_t base = confirmed_ & ~static_cast<uint64_t>(kNumberMask);
  uint64_t full = base | number;
  if (full + kNumberMask / 2 < confirmed_) full += kNumberMask + 1;
  if (full > confirmed_ + kNumberMask / 2 && full > kNumberMask) full -= kNumberMask + 1;
  return full;
}

void Requester::confirm(uint64_t number) {
  for (uint64_t n = confirmed_ + 1; n <= number; ++n) {
    const Entry& e = at(by_number_[n % kWindow]);
    if (e.opcode != IBV_WR_SEND && e.opcode != IBV_WR_SEND_WITH_IMM && reads_ > 0) --reads_;
  }
  if (number > confirmed_) confirmed_end_ = by_number_[number % kWindow] + 1;
  confirmed_ = number;
  if (rnr_number_ > confirmed_) return;
  set_deadline(UINT64_MAX);
  rnr_over_ = false;
}

void Requester::on_confirmation(uint32_t number) {
  const uint64_t full = extend(number);
  if (dead_ || !outstanding(full)) return;  // older than the known one
  confirm(full);
  retire();
  give_up_not_ready();
}

void Requester::on_note(const Immediate& note, const uint8_t* mailbox, uint64_t now) {
  if (dead_) return;
  const uint64_t number = extend(note.number);
  if (!outstanding(number)) {
    if (note.note != Note::kNotReady) give_up(head_, IBV_WC_BAD_RESP_ERR);
    return;
  }
  const uint64_t index = by_number_[number % kWindow];
  const uint8_t* const reply = mailbox + reply_offset(note.number);
  switch (note.note) {
    case Note::kAtomicDone: {
      const uint64_t before = get64(reply);
      uint8_t native[sizeof before];
      std::memcpy(native, &before, sizeof before);
      Access placed = {Access::kRefused};
      if (at(index).length == sizeof native)
        placed = keys_->scatter(sges_of(index), 1, native, sizeof native, shape_.domain);
      if (placed.outcome != Access::kDone) {
        if (placed.outcome == Access::kGone) link_->report_gone(placed);
        confirm(number - 1);
        retire_before(index);
        give_up(index, IBV_WC_LOC_PROT_ERR);
        return;
      }
      confirm(number);
      break;
    }
    case Note::kAck:
    case Note::kReadDone:
      confirm(number);
      break;
    case Note::kClear: {  // [VRB-MBX-2]
      Announced* found = nullptr;
      for (uint64_t i = announced_head_; i != announced_tail_; ++i)
        if (announced_[i % kWindow].number == number) found = &announced_[i % kWindow];
      const uint32_t count = get32(reply);
      if (found == nullptr || found->cleared || count > kMaxSegments) {
        give_up(index, IBV_WC_BAD_RESP_ERR);
        return;
      }
      decode_segments(reply + kClearHeaderBytes, count, found->segments.data());
      found->count = static_cast<uint16_t>(count);
      found->cleared = true;
      break;
    }
    case Note::kRefused:
      confirm(number - 1);
      retire_before(index);
      give_up(index, static_cast<ibv_wc_status>(note.argument));
      return;
    case Note::kNotReady:
      if (rnr_retry_ < 7) {
        rnr_number_ = number;
        rnr_over_ = false;
        set_deadline(now + rnr_retry_ * rnr_time(note.argument));
        tick(now);
      }
      return;
    default:
      give_up(head_, IBV_WC_BAD_RESP_ERR);
      return;
  }
  retire();
  give_up_not_ready();
}

void Requester::set_deadline(uint64_t at) {
  const int before = rnr_deadline_ != UINT64_MAX, after = at != UINT64_MAX;
  rnr_deadline_ = at;
  if (before != after) link_->count_timer(after - before);
}

void Requester::tick(uint64_t now) {
  if (dead_ || rnr_deadline_ > now) return;
  set_deadline(UINT64_MAX);
  rnr_over_ = outstanding(rnr_number_);
  give_up_not_ready();
}

// Messages before the one without a receive request may be under way: an announced SEND whose data is not there, or a
// confirmation. They succeed first. [VRB-REQ-6]
void Requester::give_up_not_ready() {
  if (dead_ || !rnr_over_ || confirmed_ + 1 != rnr_number_) return;
  const uint64_t index = by_number_[rnr_number_ % kWindow];
  retire_before(index);
  give_up(index, IBV_WC_RNR_RETRY_EXC_ERR);
}

bool Requester::keep_alive() {
  const uint64_t oldest = dead_ || confirmed_ + 1 == next_ ? 0 : confirmed_ + 1;
  const bool overdue = oldest != 0 && oldest == watched_;
  watched_ = oldest;
  if (overdue && !outbox_->test_peer()) give_up(head_, IBV_WC_LOC_QP_OP_ERR);
  return oldest != 0;
}

// The peer has referred to the message at `end` or one behind, and has confirmed those before it: so it has everything
// before `end`, whether or not MRC's acknowledgement has come.
void Requester::retire_before(uint64_t end) {
  for (uint64_t i = head_; i < end; ++i) at(i).delivered = true;
  written_ = std::max(written_, end);
  retire();
}

void Requester::retire() {
  while (head_ != sent_) {
    Entry& e = at(head_);
    const bool done = e.message ? e.delivered && e.number <= confirmed_ : head_ < written_;
    if (!done) return;
    ++head_;
    ++slots_;
    if (e.signaled) complete(e, IBV_WC_SUCCESS);
  }
}

void Requester::complete(Entry& e, ibv_wc_status status) {
  ibv_wc wc{};
  wc.wr_id = e.wr_id;
  wc.status = status;
  wc.opcode = completion_opcode(e.opcode);
  wc.byte_len = e.length;
  wc.qp_num = shape_.qpn;
  const uint32_t slots = slots_;
  slots_ = 0;
  link_->complete_send(wc, slots);
}

// A request that fails or is flushed. MRC may be sending its data still: behind it is the note of a refusal, say, which
// the peer needs. [VRB-RSP-10]
void Requester::lend(uint64_t index) {
  const Entry& e = at(index);
  if (index >= sent_ || e.inlined || only_receives(e.opcode)) return;
  const ibv_sge* const sges = sges_of(index);
  for (uint32_t i = 0; i < e.num_sge; ++i)
    outbox_->lend_to_the_end(keys_->lend(sges[i].lkey, sges[i].addr, sges[i].length, 0, shape_.domain));
}

// The request at `index` fails, everything else that is not done is flushed. Earlier requests are flushed, too, when
// their outcome can no longer be determined. Only a queue pair without a request to complete has an event. [VRB-EVT-1]
void Requester::give_up(uint64_t index, ibv_wc_status status) {
  if (dead_) return;
  dead_ = true;
  const bool completes = head_ != tail_;
  rnr_over_ = false;
  while (head_ != tail_) {
    Entry& e = at(head_);
    const bool culprit = head_ == index;
    lend(head_++);
    ++slots_;
    complete(e, culprit ? status : IBV_WC_WR_FLUSH_ERR);
  }
  sent_ = head_;
  set_deadline(UINT64_MAX);
  link_->fail(completes ? std::nullopt : std::optional(IBV_EVENT_QP_FATAL));
}

void Requester::flush() {
  if (!dead_) retire_before(confirmed_end_);
  dead_ = true;
  rnr_over_ = false;
  while (head_ != tail_) {
    Entry& e = at(head_);
    lend(head_++);
    ++slots_;
    complete(e, IBV_WC_WR_FLUSH_ERR);
  }
  sent_ = head_;
  set_deadline(UINT64_MAX);
}

void Requester::reset() {
  head_ = sent_ = tail_ = written_ = 0;
  slots_ = 0;
  next_ = 1;
  confirmed_ = confirmed_end_ = watched_ = 0;
  reads_ = 0;
  set_deadline(UINT64_MAX);
  rnr_over_ = false;
  announced_head_ = announced_tail_ = 0;
  taken_.store(0);
  dead_ = false;
}

}  // namespace mrc::shim
