#include "core/send_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "memory_guard.h"

namespace mrc::core {

SendQueue::Slots::Slots(uint64_t slots, const QpCaps& caps)
    : wqes(slots), more_sges(caps.max_send_sge > 1 ? slots * (caps.max_send_sge - 1) : 0) {}

// Operations that can fail come first: without memory nothing changes.
void SendQueue::grow() {
  const uint64_t old_size = slots_.wqes.size();
  Slots larger(std::max(kInitialSlots, 2 * old_size), caps_);
  const size_t inline_bytes = slots_.inline_bytes.empty() ? 0 : caps_.max_inline;
  larger.inline_bytes.resize(larger.wqes.size() * inline_bytes);
  const uint64_t mask = larger.wqes.size() - 1;
  const size_t more = slots_.more_sges.size() / std::max<uint64_t>(1, old_size);
  for (uint64_t i = head_; i < tail_; ++i) {
    const size_t from = i & mask_, to = i & mask;
    larger.wqes[to] = slots_.wqes[from];
    std::copy_n(slots_.more_sges.begin() + from * more, more, larger.more_sges.begin() + to * more);
    std::copy_n(slots_.inline_bytes.begin() + from * inline_bytes, inline_bytes,
                larger.inline_bytes.begin() + to * inline_bytes);
  }
  slots_ = std::move(larger);
  mask_ = mask;
}

void SendQueue::reset() {
  head_ = tail_ = next_seq_ = 0;
  next_msn_ = next_rqmsn_ = 0;
}

const Sge& SendQueue::sge(const Wqe& w, uint32_t i) const {
  if (i == 0) return w.sge0;
  const size_t slot = static_cast<size_t>(&w - slots_.wqes.data());
  return slots_.more_sges[slot * (caps_.max_send_sge - 1) + i - 1];
}

PostResult SendQueue::post(Instant now, const SendWr& wr, uint32_t mtu) {
  if (size() >= caps_.max_send_wr) return PostResult::kQueueFull;
  if (!wr.inline_data && wr.num_sge > caps_.max_send_sge) return PostResult::kTooManySges;
  uint64_t length = 0;
  for (uint32_t i = 0; i < wr.num_sge; ++i) length += wr.sges[i].length;
  if (length > kMaxMessage) return PostResult::kTooLong;
  if (wr.inline_data && length > caps_.max_inline) return PostResult::kInlineTooLong;
  if (size() == slots_.wqes.size()) grow();
  if (wr.inline_data && length > 0 && slots_.inline_bytes.empty())
    slots_.inline_bytes.resize(slots_.wqes.size() * caps_.max_inline);

  const size_t slot = tail_ & mask_;
  if (wr.inline_data && length > 0 && !copy_inline(wr, slots_.inline_bytes.data() + slot * caps_.max_inline))
    return PostResult::kUnreadable;
  Wqe& w = slots_.wqes[slot];
  w.wr_id = wr.wr_id;
  w.posted = now;
  w.remote_addr = wr.remote_addr;
  w.rkey = wr.rkey;
  w.imm = wr.imm;
  w.length = static_cast<uint32_t>(length);
  w.packets = packets_of(w.length, mtu);
  w.first_seq = next_seq_;
  w.with_imm = wr.op == SendOp::kWriteImm;
  w.signaled = wr.signaled;
  w.inline_data = wr.inline_data;
  w.msn = next_msn_++;
  w.rqmsn = w.with_imm ? next_rqmsn_++ : 0;
  w.num_sge = 0;
  if (!wr.inline_data) {
    // Empty elements are ignored, regardless of their address and key (spec/clients.md rule 11).
    for (uint32_t i = 0; i < wr.num_sge; ++i) {
      if (wr.sges[i].length == 0) continue;
      if (w.num_sge == 0) {
        w.sge0 = wr.sges[i];
      } else {
        slots_.more_sges[slot * (caps_.max_send_sge - 1) + w.num_sge - 1] = wr.sges[i];
      }
      ++w.num_sge;
    }
  }
  next_seq_ += w.packets;
  ++tail_;
  return PostResult::kOk;
}

bool SendQueue::copy_inline(const SendWr& wr, uint8_t* to) {
  for (uint32_t i = 0; i < wr.num_sge; ++i) {
    const size_t length = wr.sges[i].length;
    if (length == 0) continue;
    const iovec from{reinterpret_cast<void*>(wr.sges[i].addr), length};
    if (environment::guarded(&from, 1, [to, &from] { std::memcpy(to, from.iov_base, from.iov_len); })) return false;
    to += length;
  }
  return true;
}

const Wqe& SendQueue::find(uint64_t seq, uint64_t* hint) const {
  uint64_t i = *hint;
  if (i < head_ || i >= tail_ || at(i).first_seq > seq) {
    // Out of sequence: binary search for the last request whose first packet is not after seq.
    uint64_t low = head_, high = tail_;
    while (high - low > 1) {
      const uint64_t mid = low + (high - low) / 2;
      (at(mid).first_seq <= seq ? low : high) = mid;
    }
    i = low;
  }
  while (seq >= at(i).end_seq()) ++i;
  *hint = i;
  return at(i);
}

int SendQueue::gather(const Wqe& w, uint64_t offset, uint32_t bytes, const MemoryTable& memory, uint32_t pd, iovec* out,
                      int room) const {
  if (bytes == 0) return 0;
  if (w.inline_data) {
    if (room < 1) return -1;
    const size_t slot = static_cast<size_t>(&w - slots_.wqes.data());
    out[0] = {const_cast<uint8_t*>(slots_.inline_bytes.data()) + slot * caps_.max_inline + offset, bytes};
    return 1;
  }
  int n = 0;
  for (uint32_t i = 0; i < w.num_sge && bytes > 0; ++i) {
    const Sge& s = sge(w, i);
    if (offset >= s.length) {
      offset -= s.length;
      continue;
    }
    const uint32_t part = static_cast<uint32_t>(std::min<uint64_t>(bytes, s.length - offset));
    const MemoryRegion* mr = memory.find(s.lkey);
    if (mr == nullptr || mr->pd != pd || !mr->covers(s.addr, s.length) || n == room) return -1;
    out[n++] = {mr->at(s.addr + offset), part};
    bytes -= part;
    offset = 0;
  }
  return bytes == 0 ? n : -1;
}

MemoryFault SendQueue::fault_of(const Wqe& w, const MemoryTable& memory, uint64_t address) const {
  for (uint32_t i = 0; i < w.num_sge; ++i)
    if (const MemoryRegion* const mr = memory.find(sge(w, i).lkey); mr != nullptr && mr->holds(address))
      return mr->fault_at(address, false);
  return {};
}

// Packets are numbered without a gap, and messages likewise.
void SendQueue::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(head_ <= tail_ && size() <= caps_.max_send_wr);
  if (empty() || !pace_.due(size())) return;
  uint64_t next = front().first_seq;
  uint16_t msn = front().msn;
  for_each([&](const Wqe& w) {
    MRC_INVARIANT(w.packets > 0 && w.first_seq == next && w.msn == msn);
    next = w.end_seq();
    ++msn;
  });
  MRC_INVARIANT(next == next_seq_ && msn == next_msn_);
}

}  // namespace mrc::core
