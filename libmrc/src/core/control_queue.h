// ControlQueue: queued control packets other than SACKs, until poll_tx: NACKs, probes, transport ACKs
// sent separately, endpoint and plane requests, and, in a ring of their own, the answers to connectionless requests
// of others. A packet is encoded in its slot, ICRC included, and copied once, into the burst that carries it.
// Adjacent packets in the ring with one flow and one size leave as one burst.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/invariant.h"
#include "base/planes.h"
#include "core/burst.h"
#include "core/engine_context.h"
#include "core/reply_limiter.h"
#include "wire/flow.h"
#include "wire/udp.h"

namespace mrc::core {

inline constexpr uint32_t kControlRoom = 128;  // the largest control packet, SPTH and ICRC included, is as long

struct ControlPacket {
  wire::Flow flow;
  uint16_t ev_index = 0;
  uint16_t padding = 0;  // zeros between headers and ICRC; the ICRC is then computed when the packet is sent
  PlaneId plane;
  uint8_t length = 0;  // headers and ICRC
  std::array<uint8_t, kControlRoom> bytes;
};

// Fixed ring of them.
class ControlRing {
 public:
  explicit ControlRing(size_t capacity) : slots_(capacity) {}
  size_t count() const { return count_; }
  bool full() const { return count_ == slots_.size(); }
  ControlPacket& next_free() { return slots_[(head_ + count_) % slots_.size()]; }
  void push() { ++count_; }  // the packet written to next_free()
  const ControlPacket& front() const { return slots_[head_]; }
  void pop() {
    head_ = (head_ + 1) % slots_.size();
    --count_;
  }
  void check() const { MRC_INVARIANT(head_ < slots_.size() && count_ <= slots_.size()); }

 private:
  std::vector<ControlPacket> slots_;
  size_t head_ = 0, count_ = 0;
};

class ControlQueue {
 public:
  static constexpr size_t kMaxPackets = 1024, kMaxReplies = 256;

  explicit ControlQueue(EngineContext* engine) : engine_(*engine), limiter_(engine->message_secret) {}

  // Queues one packet. `encode(std::span<uint8_t> out)` writes its headers and returns their length; `padding` zeros
  // and the ICRC follow them. False, and nothing is sent, when too many packets are queued.
  template <typename Encode>
  [[nodiscard]] bool push(const wire::Flow& flow, uint16_t ev, const Encode& encode, uint32_t padding = 0) {
    if (packets_.full()) return false;
    ControlPacket& p = packets_.next_free();
    const uint32_t headers = encode(room(&p));
    seal(&p, flow, ev, headers, padding);
    packets_.push();
    return true;
  }

  // Queues the answer to a connectionless request of `asked` bytes, whose source is not proven: within the limits of
  // ReplyLimiter [MRC-SEC-11]. `to_peer`: flow.dst is an address of a peer. False: not answered, and counted.
  template <typename Encode>
  [[nodiscard]] bool push_reply(Instant now, const wire::Flow& flow, uint16_t ev, bool to_peer, uint32_t asked,
                                const Encode& encode) {
    if (!replies_.full()) {
      ControlPacket& p = replies_.next_free();
      const uint32_t headers = encode(room(&p));
      if (limiter_.allow(now, flow.dst, to_peer, asked, headers + wire::kIcrcBytes)) {
        seal(&p, flow, ev, headers, 0);
        replies_.push();
        return true;
      }
    }
    ++engine_.counters.drop_replies;
    return false;
  }

  // Moves the next packets into `out`: packets before replies, each ring in order. False: nothing is queued, or the
  // plane of the first packet has no room. Packets of a plane whose port is down are dropped.
  bool pop(TxBurst* out, PlaneSet planes_with_room);

  size_t waiting() const { return packets_.count(); }  // without replies
  void check() const {
    packets_.check();
    replies_.check();
    limiter_.check();
  }

 private:
  // Memory for headers; the ICRC follows them.
  static std::span<uint8_t> room(ControlPacket* p) {
    return std::span(p->bytes).first(kControlRoom - wire::kIcrcBytes);
  }
  void seal(ControlPacket* p, const wire::Flow& flow, uint16_t ev, uint32_t headers, uint32_t padding) const;
  bool pop(ControlRing* ring, TxBurst* out, PlaneSet planes_with_room);
  void take_padded(const ControlPacket& p, TxBurst* out);

  EngineContext& engine_;
  ControlRing packets_{kMaxPackets};
  ControlRing replies_{kMaxReplies};
  ReplyLimiter limiter_;
  std::vector<uint8_t> padded_;  // the padded packet returned by pop()
};

}  // namespace mrc::core
