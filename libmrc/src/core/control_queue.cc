#include "core/control_queue.h"

#include <algorithm>
#include <cstring>

#include "wire/icrc.h"

namespace mrc::core {

void ControlQueue::seal(ControlPacket* p, const wire::Flow& flow, EvIndex ev, uint32_t headers,
                        uint32_t padding) const {
  p->flow = flow;
  p->plane = engine_.config.evs[ev].plane;
  p->ev_index = ev;
  p->length = static_cast<uint8_t>(headers + wire::kIcrcBytes);
  p->padding = static_cast<uint16_t>(padding);
  if (padding != 0) return;
  const uint32_t crc = engine_.config.icrc ? wire::icrc_compute(flow, {p->bytes.data(), p->length}) : 0;
  wire::icrc_store(p->bytes.data() + headers, crc);
}

bool ControlQueue::pop(TxBurst* out, PlaneSet planes_with_room) {
  return pop(&packets_, out, planes_with_room) || pop(&replies_, out, planes_with_room);
}

bool ControlQueue::pop(ControlRing* ring, TxBurst* out, PlaneSet planes_with_room) {
  while (ring->count() > 0 && !engine_.plane_up(ring->packet(ring->front()).plane)) ring->take(ring->front());
  if (ring->count() == 0) return false;
  const ControlPacket& first = ring->packet(ring->front());
  if (!planes_with_room.contains(first.plane)) return false;
  out->flow = first.flow;
  out->plane = first.plane;
  out->ev_index = first.ev_index;
  if (first.padding == 0) {
    copy_flow(ring, out);
  } else {
    copy_padded(first, out);
    ring->take(ring->front());
  }
  return true;
}

// The first packet and the following ones of its flow, up to one of another size or with padding: packets of one flow
// never overtake each other.
void ControlQueue::copy_flow(ControlRing* ring, TxBurst* out) const {
  uint32_t number = ring->front();
  const uint32_t size = ring->packet(number).length;
  const uint32_t limit = std::min<uint32_t>({std::max<uint32_t>(1, engine_.config.max_segments), kMaxSegments,
                                             static_cast<uint32_t>(out->headers.size()) / size});
  out->segments = 0;
  while (out->segments < limit) {
    const ControlPacket& p = ring->packet(number);
    if (p.length != size || p.padding != 0) break;
    std::memcpy(out->headers.data() + out->segments * size, p.bytes.data(), size);
    ++out->segments;
    const std::optional<uint32_t> next = ring->next_of_flow(number);
    ring->take(number);
    if (!next) break;
    number = *next;
  }
  out->segment_size = size;
  out->bytes = out->segments * size;
  out->iov_count = 1;
  out->iov[0] = {out->headers.data(), out->bytes};
}

void ControlQueue::copy_padded(const ControlPacket& p, TxBurst* out) {
  padded_.assign(p.length + size_t{p.padding}, 0);
  std::memcpy(padded_.data(), p.bytes.data(), p.length - wire::kIcrcBytes);
  const auto n = static_cast<uint32_t>(padded_.size());
  const uint32_t crc = engine_.config.icrc ? wire::icrc_compute(p.flow, padded_) : 0;
  wire::icrc_store(&padded_[n - wire::kIcrcBytes], crc);
  out->segments = 1;
  out->segment_size = out->bytes = n;
  out->iov_count = 1;
  out->iov[0] = {padded_.data(), n};
}

}  // namespace mrc::core
