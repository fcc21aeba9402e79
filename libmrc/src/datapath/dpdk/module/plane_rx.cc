// Receiving half of a plane: frames from the port, headers stripped, neighbours' messages handled.
#include <algorithm>
#include <array>

#include "datapath/dpdk/module/plane.h"

namespace mrc::datapath {

bool DpdkPlane::poll(Instant now, DatapathCounters* counters) {
  if (inbox_at_ < inbox_.size()) return true;
  inbox_.clear();
  inbox_at_ = 0;
  ++counters->rx_calls;
  std::array<rte_mbuf*, kBatch> batch;
  const uint16_t count = port_.receive(batch.data(), kBatch);
  for (uint16_t i = 0; i < count; ++i)
    if (!keep(now, batch[i], counters)) rte_pktmbuf_free(batch[i]);
  return count > 0;
}

// True: a packet for the engine, which is in the inbox now.
bool DpdkPlane::keep(Instant now, rte_mbuf* frame, DatapathCounters* counters) {
  if (rte_pktmbuf_linearize(frame) != 0) {  // in several buffers: the port's MTU is larger than ours
    ++counters->rx_errors;
    return false;
  }
  const auto parsed = parse_frame(rte_pktmbuf_mtod(frame, const uint8_t*), rte_pktmbuf_data_len(frame));
  if (!parsed) {
    on_neighbour_frame(now, frame);
    return false;
  }
  if (!is_for(*parsed, own_, udp_port_, second_port_)) return false;
  if (parsed->payload_bytes == 0) {
    ++counters->rx_errors;
    return false;
  }
  Received& received = inbox_.emplace_back();
  received.frame = frame;
  received.burst.flow = parsed->flow;
  received.burst.data = parsed->payload;
  received.burst.bytes = received.burst.segment_size = parsed->payload_bytes;
  return true;
}

void DpdkPlane::on_neighbour_frame(Instant now, const rte_mbuf* frame) {
  const auto* bytes = rte_pktmbuf_mtod(frame, const uint8_t*);
  const std::optional<NeighbourMessage> message = parse_neighbour(bytes, rte_pktmbuf_data_len(frame));
  if (!message) return;
  MacAddress sender;
  std::copy_n(bytes + sender.size(), sender.size(), sender.begin());
  const MacAddress& mac = message->has_mac ? message->mac : sender;
  if (!message->solicitation) return learn(now, message->target, mac);
  if (!message->from.is_zero()) learn(now, message->from, mac);
  if (message->target == own_) answer(*message, sender);
}

int DpdkPlane::receive(core::RxBurst* out, int max, DatapathCounters* counters) {
  int got = 0;
  for (; got < max && inbox_at_ < inbox_.size(); ++got, ++inbox_at_) {
    const Received& received = inbox_[inbox_at_];
    lent_.push_back(received.frame);
    out[got] = received.burst;
    ++counters->rx_bursts;
    ++counters->rx_packets;
    counters->rx_bytes += received.burst.bytes;
  }
  return got;
}

void DpdkPlane::release() {
  if (!lent_.empty()) rte_pktmbuf_free_bulk(lent_.data(), static_cast<unsigned int>(lent_.size()));
  lent_.clear();
}

}  // namespace mrc::datapath
