// Packet: what links and switches carry. Headers are real bytes, as the engine wrote them; payload is only a length, so
// a packet takes some 200 bytes with any payload. The outer IPv6 header is its destination (the uSID list, which
// switches shift) and, since both headers carry one, the traffic class of `flow`.
//
// Packets come from a pool and are chained by `next` in their queue; nothing is allocated per packet once
// the pool has grown to the number in flight.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/units.h"
#include "sim/queue/switch_queue.h"
#include "wire/flow.h"

namespace mrc::sim {

using queueing::TrafficClass;

// What ports and switches read comes first, within a cache line: most of a run waits for memory.
struct alignas(64) Packet {
  Packet* next = nullptr;
  uint32_t bytes = 0;  // on the link, everything included
  uint32_t udp_bytes = 0;
  IpAddress path;  // outer destination
  TrafficClass tc = TrafficClass::kData;
  bool trimmable = false;
  bool trimmed = false;
  uint8_t plane = 0;
  uint16_t ingress = 0;  // port by which the present switch received it
  uint16_t header_bytes = 0;
  wire::Flow flow;  // inner header; the engine's view
  std::array<uint8_t, 64> header;
};

class PacketPool {
 public:
  Packet* take() {
    if (free_ == nullptr) grow();
    Packet* p = free_;
    free_ = p->next;
    p->next = nullptr;
    p->trimmed = false;
    ++live_;
    return p;
  }
  void give(Packet* p) {
    p->next = free_;
    free_ = p;
    --live_;
  }
  int64_t live() const { return live_; }
  size_t bytes() const { return chunks_.size() * kChunk * sizeof(Packet); }

 private:
  static constexpr size_t kChunk = 1024;
  void grow() {
    chunks_.push_back(std::make_unique<Packet[]>(kChunk));
    for (size_t i = kChunk; i > 0; --i) {
      Packet* p = &chunks_.back()[i - 1];
      p->next = free_;
      free_ = p;
    }
  }
  std::vector<std::unique_ptr<Packet[]>> chunks_;
  Packet* free_ = nullptr;
  int64_t live_ = 0;
};

using PacketFifo = queueing::Fifo<Packet>;

}  // namespace mrc::sim
