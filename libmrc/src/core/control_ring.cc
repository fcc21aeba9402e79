#include "core/control_ring.h"

namespace mrc::core {

size_t ControlRing::hash(const ControlPacket& p) {
  uint64_t low = 0;
  std::memcpy(&low, &p.flow.dst.bytes[8], sizeof(low));
  const uint64_t rest = uint64_t{p.flow.dst_port} << 24 | uint64_t{p.flow.traffic_class} << 16 | p.ev_index.value();
  return ((low ^ rest << 20) * 0x9E3779B97F4A7C15u >> 32) % kFlows;
}

void ControlRing::push() {
  Slot& slot = at(tail_);
  slot.to_next = 0;
  slot.taken = false;
  uint32_t& last = last_[hash(slot.packet)];
  if (last - head_ < tail_ - head_) {
    Slot& before = at(last);
    if (!before.taken && before.packet.ev_index == slot.packet.ev_index && before.packet.flow == slot.packet.flow)
      before.to_next = static_cast<uint16_t>(tail_ - last);
  }
  last = tail_++;
  ++count_;
}

void ControlRing::take(uint32_t number) {
  at(number).taken = true;
  --count_;
  while (head_ != tail_ && at(head_).taken) ++head_;
}

void ControlRing::check() const {
  MRC_INVARIANT(tail_ - head_ <= slots_.size() && count_ <= tail_ - head_);
  MRC_INVARIANT((count_ == 0) == (head_ == tail_));
  MRC_INVARIANT(count_ == 0 || !at(head_).taken);
}

}  // namespace mrc::core
