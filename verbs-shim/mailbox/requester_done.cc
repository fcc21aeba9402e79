// The end of requests: completed by MRC, confirmed or refused by the peer, and completions in order. [VRB-REQ-5..6]
#include <algorithm>
#include <cstring>

#include "invariant.h"
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

// The request of that number, too.
bool confirms(Note note) {
  return note == Note::kAck || note == Note::kReadDone || note == Note::kAtomicDone;
}

// Its data is sent when the peer has said where to.
bool is_announced(const SendRequest& e) {
  return e.message && e.length > kEagerBytes && (e.opcode == IBV_WR_SEND || e.opcode == IBV_WR_SEND_WITH_IMM);
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
  const Checked checked(this);
  outbox_->on_completion(slot, status);
  if (stopped_) return;
  const uint64_t index = Outbox::is_internal(slot) ? pos_.sent : ring_.index_of(slot, pos_.head);
  if (status != IBV_WC_SUCCESS) {
    // Completions come in order, so MRC has completed every WRITE before the first request that fails.
    if (index < pos_.sent) pos_.written_before(index);
    uint64_t failed = index;
    if (slot == Outbox::kTest || slot == Outbox::kReadData) {
      failed = pos_.head;  // [VRB-REQ-7]
    } else if (slot == Outbox::kInternal) {
      failed = !announced_.empty() ? window_.index_of(announced_.front().number) : pos_.head;
    }
    fail_after_confirmed(failed, meaning_of(slot, index, status));
    return;
  }
  if (Outbox::is_internal(slot) || index >= pos_.sent) return;
  pos_.written_before(index + 1);
  if (ring_.at(index).message) ring_.at(index).delivered = true;
  retire();
}

// The status of the request that fails with a write of MRC's.
ibv_wc_status Requester::meaning_of(uint32_t slot, uint64_t index, ibv_wc_status status) const {
  // Memory of the peer's READ is gone, which no request of this side has to do with.
  if (slot == Outbox::kReadData && status == IBV_WC_LOC_PROT_ERR) return IBV_WC_WR_FLUSH_ERR;
  if (status != IBV_WC_REM_ACCESS_ERR) return status;
  // The peer's memory for data has gone, and its queue pair is in the error state. [VRB-RSP-14]
  if (slot == Outbox::kReadData) return IBV_WC_REM_OP_ERR;
  if (!Outbox::is_internal(slot)) {
    if (index >= pos_.sent || !ring_.at(index).message) return status;
    if (is_announced(ring_.at(index))) return IBV_WC_REM_OP_ERR;
  }
  return IBV_WC_REM_INV_REQ_ERR;  // a peer without a mailbox lacks the operation [VRB-MBX-3]
}

void Requester::confirm(uint64_t number) {
  for (uint64_t n = window_.confirmed() + 1; n <= number; ++n) {
    const SendRequest& e = ring_.at(window_.index_of(n));
    if (e.opcode != IBV_WR_SEND && e.opcode != IBV_WR_SEND_WITH_IMM && reads_ > 0) --reads_;
  }
  window_.confirm(number);
  if (not_ready_.number() <= window_.confirmed()) not_ready_.end();
}

// True: the connection has failed, because the peer confirms an announced SEND whose data was not sent. [VRB-MBX-2]
bool Requester::fail_if_unsent(uint64_t number) {
  if (announced_.empty() || announced_.front().number > number) return false;
  fail_after_confirmed(window_.index_of(announced_.front().number), IBV_WC_BAD_RESP_ERR);
  return true;
}

void Requester::on_confirmation(uint32_t number) {
  const Checked checked(this);
  const uint64_t full = window_.extend(number);
  if (stopped_ || !window_.outstanding(full)) return;  // older than the known one
  if (fail_if_unsent(full)) return;
  confirm(full);
  retire();
  fail_not_ready();
}

void Requester::on_note(const Immediate& note, const uint8_t* mailbox, uint64_t now) {
  const Checked checked(this);
  if (stopped_) return;
  const uint64_t number = window_.extend(note.number);
  if (!window_.outstanding(number)) {
    if (note.note != Note::kNotReady) fail_after_confirmed(pos_.head, IBV_WC_BAD_RESP_ERR);
    return;
  }
  const uint64_t index = window_.index_of(number);
  const uint8_t* const reply = mailbox + reply_offset(note.number);
  if (confirms(note.note) && fail_if_unsent(number)) return;
  switch (note.note) {
    case Note::kAtomicDone: {
      const uint64_t before = get64(reply);
      uint8_t native[sizeof before];
      std::memcpy(native, &before, sizeof before);
      Access placed = {Access::kRefused};
      if (ring_.at(index).length == sizeof native)
        placed = keys_->scatter(ring_.sges_of(index), 1, native, sizeof native, shape_.domain);
      if (placed.outcome != Access::kDone) {
        if (placed.outcome == Access::kGone) link_->report_gone(placed);
        confirm(number - 1);
        retire_before(index);
        fail_request(index, IBV_WC_LOC_PROT_ERR);
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
      AnnouncedSends::Send* const found = announced_.find(number);
      const uint32_t count = get32(reply);
      if (found == nullptr || found->cleared || count > kMaxSegments) {
        fail_after_confirmed(index, IBV_WC_BAD_RESP_ERR);
        return;
      }
      decode_segments(reply + kClearHeaderBytes, count, found->segments.data());
      found->count = static_cast<uint16_t>(count);
      found->cleared = true;
      break;
    }
    case Note::kRefused:
      if (fail_if_unsent(number - 1)) return;
      confirm(number - 1);
      retire_before(index);
      fail_request(index, static_cast<ibv_wc_status>(note.argument));
      return;
    case Note::kNotReady:
      if (limits_.rnr_retry < 7) {
        not_ready_.begin(number, now + limits_.rnr_retry * rnr_time(note.argument));
        tick(now);
      }
      return;
    default:
      fail_after_confirmed(pos_.head, IBV_WC_BAD_RESP_ERR);
      return;
  }
  retire();
  fail_not_ready();
}

void Requester::tick(uint64_t now) {
  const Checked checked(this);
  if (stopped_ || not_ready_.deadline() > now) return;
  not_ready_.expire(window_);
  fail_not_ready();
}

// Messages before the one without a receive request may be under way: an announced SEND whose data is not there, or a
// confirmation. They succeed first. [VRB-REQ-6]
void Requester::fail_not_ready() {
  if (stopped_ || !not_ready_.over() || window_.confirmed() + 1 != not_ready_.number()) return;
  const uint64_t index = window_.index_of(not_ready_.number());
  retire_before(index);
  fail_request(index, IBV_WC_RNR_RETRY_EXC_ERR);
}

bool Requester::keep_alive() {
  const Checked checked(this);
  const uint64_t oldest = stopped_ ? 0 : window_.oldest();
  const bool overdue = oldest != 0 && oldest == oldest_at_check_;
  oldest_at_check_ = oldest;
  if (overdue && !outbox_->test_peer()) fail_after_confirmed(pos_.head, IBV_WC_LOC_QP_OP_ERR);
  return oldest != 0;
}

// The peer has referred to the message at `end` or one behind, and has confirmed those before it: so it has everything
// before `end`, whether or not MRC's acknowledgement has come.
void Requester::retire_before(uint64_t end) {
  for (uint64_t i = pos_.head; i < end; ++i) ring_.at(i).delivered = true;
  pos_.written_before(end);
  retire();
}

void Requester::retire() {
  while (pos_.head != pos_.sent) {
    SendRequest& e = ring_.at(pos_.head);
    const bool done = e.message ? e.delivered && e.number <= window_.confirmed() : pos_.head < pos_.written;
    if (!done) return;
    pos_.retire();
    if (e.flags.signaled) complete(e, IBV_WC_SUCCESS);
  }
}

void Requester::complete(SendRequest& e, ibv_wc_status status) {
  ibv_wc wc{};
  wc.wr_id = e.wr_id;
  wc.status = status;
  wc.opcode = completion_opcode(e.opcode);
  wc.byte_len = e.length;
  wc.qp_num = shape_.qpn;
  link_->complete_send(wc, pos_.take_covered());
}

// A request that fails or is flushed. MRC may be sending its data still: behind it is the note of a refusal, say, which
// the peer needs. [VRB-RSP-10]
void Requester::lend(uint64_t index) {
  const SendRequest& e = ring_.at(index);
  if (index >= pos_.sent || e.flags.inlined || only_receives(e.opcode)) return;
  const ibv_sge* const sges = ring_.sges_of(index);
  for (uint32_t i = 0; i < e.num_sge; ++i)
    outbox_->lend_until_drop(keys_->lend(sges[i].lkey, sges[i].addr, sges[i].length, 0, shape_.domain));
}

// The request at `index` fails, everything else that is not done is flushed. Earlier requests are flushed, too, when
// their outcome can no longer be determined. Only a queue pair without a completion that tells it has an event.
// [VRB-EVT-1]
void Requester::fail_request(uint64_t index, ibv_wc_status status) {
  if (stopped_) return;
  stopped_ = true;
  const bool told = !idle() && status != IBV_WC_WR_FLUSH_ERR;
  not_ready_.end();
  while (!idle()) {
    SendRequest& e = ring_.at(pos_.head);
    const bool failed = pos_.head == index;
    lend(pos_.retire());
    complete(e, failed ? status : IBV_WC_WR_FLUSH_ERR);
  }
  pos_.sent = pos_.head;
  link_->fail(told ? std::nullopt : std::optional(IBV_EVENT_QP_FATAL));
}

// What the peer has confirmed succeeds first. [VRB-REQ-6]
void Requester::fail_after_confirmed(uint64_t index, ibv_wc_status status) {
  retire_before(window_.confirmed_end());
  fail_request(std::max(index, pos_.head), status);
}

// The request that announced its destination is still there.
bool Requester::fail_lost_read() {
  const Checked checked(this);
  if (stopped_) return false;
  for (uint64_t n = window_.confirmed() + 1; n != window_.next(); ++n) {
    const uint64_t index = window_.index_of(n);
    if (ring_.at(index).opcode != IBV_WR_RDMA_READ) continue;
    const uint8_t* const staged = outbox_->staging().request(static_cast<uint32_t>(n & kNumberMask));
    Segment segments[kMaxSegments];
    const uint32_t count = decode_request(staged).segments;
    decode_segments(staged + kHeaderBytes, count, segments);
    if (keys_->can_land(segments, count)) continue;
    fail_after_confirmed(index, IBV_WC_LOC_PROT_ERR);
    return true;
  }
  return false;
}

void Requester::flush() {
  const Checked checked(this);
  if (!stopped_) retire_before(window_.confirmed_end());
  stopped_ = true;
  not_ready_.end();
  while (!idle()) {
    SendRequest& e = ring_.at(pos_.head);
    lend(pos_.retire());
    complete(e, IBV_WC_WR_FLUSH_ERR);
  }
  pos_.sent = pos_.head;
}

void Requester::reset() {
  const Checked checked(this);
  pos_ = {};
  window_ = {};
  oldest_at_check_ = 0;
  reads_ = 0;
  not_ready_.end();
  announced_.clear();
  slots_.clear();
  stopped_ = false;
}

// What was sent is in front of what was not. A message without an answer is in the ring, and its data may be the
// peer's. Once it is stopped, nothing is left.
void Requester::check() const {
  if constexpr (!kCheckInvariants) return;
  window_.check();
  announced_.check();
  ring_.check(pos_.head, pos_.tail);
  pos_.check();
  MRC_INVARIANT(pos_.covered <= shape_.max_wr);
  not_ready_.check();
  if (stopped_) {
    MRC_INVARIANT(idle() && !not_ready_.over() && not_ready_.deadline() == UINT64_MAX);
    return;
  }
  MRC_INVARIANT(announced_.empty() || window_.outstanding(announced_.front().number));
  MRC_INVARIANT(!not_ready_.over() || window_.outstanding(not_ready_.number()));
  if (!pace_.due(window_.next() - 1 - window_.confirmed())) return;
  uint32_t reads = 0;
  for (uint64_t n = window_.confirmed() + 1; n != window_.next(); ++n) {
    const uint64_t index = window_.index_of(n);
    MRC_INVARIANT(index >= pos_.head && index < pos_.sent);
    const SendRequest& e = ring_.at(index);
    MRC_INVARIANT(e.message && e.number == n);
    reads += only_receives(e.opcode);
  }
  MRC_INVARIANT(reads == reads_);
}

}  // namespace mrc::shim
