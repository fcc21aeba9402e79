#include "core/packet_scheduler.h"

namespace mrc::core {

namespace {

wire::Opcode opcode_of(const Wqe& w, uint64_t k) {
  const bool first = k == 0;
  const bool last = k + 1 == w.packets;
  if (first && last) return w.with_imm ? wire::Opcode::kWriteOnlyImm : wire::Opcode::kWriteOnly;
  if (first) return wire::Opcode::kWriteFirst;
  if (last) return w.with_imm ? wire::Opcode::kWriteLastImm : wire::Opcode::kWriteLast;
  return wire::Opcode::kWriteMiddle;
}

}  // namespace

PacketScheduler::Next PacketScheduler::next(uint32_t path_mtu, uint16_t max_wimm, bool timestamps, Packet* out) {
  if (retransmit_) {
    const std::optional<uint64_t> lost = sent_.next_lost(sent_.una());
    if (!lost) return Next::kNone;
    out->seq = *lost;
  } else {
    out->seq = sent_.nxt();
    if (out->seq >= limit()) return Next::kWindowClosed;
  }
  const Wqe& w = queue_.find(out->seq, retransmit_ ? &lost_hint_ : &hint_);
  if (__builtin_expect(w.first_seq >= withheld_, 0)) return Next::kNone;
  const uint64_t k = out->seq - w.first_seq;
  out->begins_wimm = !retransmit_ && w.with_imm && k == 0;
  if (out->begins_wimm && wimm_in_flight_ >= max_wimm) return Next::kWimmLimit;
  out->request = &w;
  out->offset = k * path_mtu;
  out->payload = static_cast<uint32_t>(std::min<uint64_t>(path_mtu, w.length - out->offset));
  out->opcode = opcode_of(w, k);
  out->bytes = wire::packet_bytes(out->opcode, timestamps, out->payload);
  return Next::kPacket;
}

// The WriteIMMs in flight are the requests that have begun and are not completed.
void PacketScheduler::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(cumulative_ <= sent_.nxt());
  MRC_INVARIANT(withheld_ == UINT64_MAX || (withheld_ < sent_.nxt() && withheld_ > queue_.front().first_seq));
  if (!pace_.due(queue_.size())) return;
  uint32_t begun = 0;
  queue_.for_each([&](const Wqe& w) { begun += w.with_imm && w.first_seq < sent_.nxt(); });
  MRC_INVARIANT(begun == wimm_in_flight_);
}

}  // namespace mrc::core
