#include "datapath/mem/mem_datapath.h"

#include <utility>

#include "datapath/burst_parts.h"

namespace mrc::datapath {

std::pair<std::unique_ptr<MemDatapath>, std::unique_ptr<MemDatapath>> MemDatapath::make_pair(uint32_t planes,
                                                                                             uint32_t depth) {
  auto a = std::make_unique<MemDatapath>();
  auto b = std::make_unique<MemDatapath>();
  a->in_ = b->out_ = std::make_shared<Lane>(Lane{PerPlane<std::deque<OwnedBurst>>(planes), depth});
  b->in_ = a->out_ = std::make_shared<Lane>(Lane{PerPlane<std::deque<OwnedBurst>>(planes), depth});
  return {std::move(a), std::move(b)};
}

std::unique_ptr<MemDatapath> MemDatapath::make_loop(uint32_t planes, uint32_t depth) {
  auto loop = std::make_unique<MemDatapath>();
  loop->in_ = loop->out_ = std::make_shared<Lane>(Lane{PerPlane<std::deque<OwnedBurst>>(planes), depth});
  return loop;
}

int MemDatapath::rx_burst(Instant, core::RxBurst* out, int max) {
  lent_.begin();
  size_t empty = 0;
  while (empty < in_->planes.size() && lent_.count() < max) {
    auto& queue = in_->planes[next_plane_];
    next_plane_ = (next_plane_ + 1) % in_->planes.size();
    if (queue.empty()) {
      ++empty;
      continue;
    }
    empty = 0;
    lent_.add(std::move(queue.front()));
    queue.pop_front();
  }
  return lent_.lend(out, &counters_);
}

int MemDatapath::tx_burst(Instant, const core::TxBurst* const* bursts, int n) {
  for (int i = 0; i < n; ++i) {
    const core::TxBurst& burst = *bursts[i];
    auto& queue = out_->planes[burst.plane];
    if (queue.size() >= out_->depth) {
      ++counters_.tx_no_room;
      return i;
    }
    OwnedBurst packet;
    packet.bytes.resize(burst.bytes);
    flatten(burst, packet.bytes.data());
    packet.burst.flow = burst.flow;
    packet.burst.plane = burst.plane;
    packet.burst.bytes = burst.bytes;
    packet.burst.segment_size = burst.segment_size;
    queue.push_back(std::move(packet));
    ++counters_.tx_bursts;
    counters_.tx_packets += burst.segments;
    counters_.tx_bytes += burst.bytes;
  }
  return n;
}

PlaneSet MemDatapath::planes_with_room() {
  PlaneSet room;
  for (const PlaneId p : out_->planes.ids()) room.set(p, out_->planes[p].size() < out_->depth);
  return room;
}

std::string MemDatapath::describe() const {
  return "mem: " + std::to_string(out_->planes.size()) + " planes in this process\n";
}

}  // namespace mrc::datapath
