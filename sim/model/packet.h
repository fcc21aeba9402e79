// Packet: what links and switches carry. Headers are real bytes, as the engine wrote them; payload is only a length, so
// a packet takes some 200 bytes whatever it carries. The outer IPv6 header is its destination (the uSID list, which
// switches shift) and, since both headers carry one, the traffic class of `flow`.
//
// Packets come from a pool and are chained by `next` in whatever queue they stand; nothing is allocated per packet once
// the pool has grown to the number in flight.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/units.h"
#include "wire/flow.h"

namespace mrc::sim {

enum class TrafficClass : uint8_t { kControl, kTrimmed, kData };

struct Packet {
  wire::Flow flow;     // inner header; the engine's view
  IpAddress path;      // outer destination
  uint32_t bytes = 0;  // on the link, everything included
  uint32_t udp_bytes = 0;
  Ps arrive_at = 0;
  Packet* next = nullptr;
  TrafficClass tc = TrafficClass::kData;
  bool trimmable = false;
  bool trimmed = false;
  uint8_t plane = 0;
  uint16_t ingress = 0;  // port by which the present switch received it
  uint16_t header_bytes = 0;
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

// First in, first out, with its size in bytes.
class PacketFifo {
 public:
  void push(Packet* p) {
    p->next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = p;
    tail_ = p;
    bytes_ += p->bytes;
    ++count_;
  }
  Packet* pop() {
    Packet* p = head_;
    if (p == nullptr) return nullptr;
    head_ = p->next;
    if (head_ == nullptr) tail_ = nullptr;
    p->next = nullptr;
    bytes_ -= p->bytes;
    --count_;
    return p;
  }
  // Puts `p` in the place of the newest packet, which is returned.
  Packet* exchange_newest(Packet* p) {
    Packet* old = tail_;
    Packet* before = nullptr;
    for (Packet* q = head_; q != old; q = q->next) before = q;
    bytes_ += static_cast<int64_t>(p->bytes) - old->bytes;
    (before != nullptr ? before->next : head_) = p;
    p->next = nullptr;
    tail_ = p;
    return old;
  }
  Packet* front() const { return head_; }
  bool empty() const { return head_ == nullptr; }
  int64_t bytes() const { return bytes_; }
  uint32_t count() const { return count_; }

 private:
  Packet* head_ = nullptr;
  Packet* tail_ = nullptr;
  int64_t bytes_ = 0;
  uint32_t count_ = 0;
};

}  // namespace mrc::sim
