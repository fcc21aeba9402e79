// ControlQueue: queued control packets other than SACKs, until poll_tx: NACKs, probes, transport ACKs
// sent separately, endpoint and plane requests, and, in a ring of their own, the answers to connectionless requests
// of others. A packet is encoded in its slot, ICRC included, and copied once, into the burst that carries it.
// Packets of one flow and one size leave as one burst, in their order, even if those of other flows are queued
// between them (core/control_ring.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/planes.h"
#include "core/burst.h"
#include "core/control_ring.h"
#include "core/engine_context.h"
#include "core/reply_limiter.h"
#include "invariant.h"
#include "wire/flow.h"
#include "wire/udp.h"

namespace mrc::core {

class ControlQueue {
 public:
  static constexpr uint32_t kMaxPackets = 1024, kMaxReplies = 256;

  explicit ControlQueue(EngineContext* engine) : engine_(*engine), limiter_(engine->message_secret) {}

  // Queues one packet. `encode(std::span<uint8_t> out)` writes its headers and returns their length; `padding` zeros
  // and the ICRC follow them. False, and nothing is sent, when too many packets are queued.
  template <typename Encode>
  [[nodiscard]] bool push(const wire::Flow& flow, EvIndex ev, const Encode& encode, uint32_t padding = 0) {
    if (packets_.full()) return false;
    ControlPacket& p = packets_.next_free();
    const uint32_t headers = encode(room(&p));
    seal(&p, flow, ev, headers, padding);
    packets_.push();
    return true;
  }

  // Queues the answer to a connectionless request of `asked` bytes, whose source is not proven: within the limits of
  // ReplyLimiter [MRC-SEC-11]. False: not answered, and counted.
  template <typename Encode>
  [[nodiscard]] bool push_reply(Instant now, const wire::Flow& flow, EvIndex ev, const RequestSource& from,
                                uint32_t asked, const Encode& encode) {
    if (!replies_.full()) {
      ControlPacket& p = replies_.next_free();
      const uint32_t headers = encode(room(&p));
      if (limiter_.allow(now, from, asked, headers + wire::kIcrcBytes)) {
        seal(&p, flow, ev, headers, 0);
        replies_.push();
        return true;
      }
    }
    ++engine_.counters.drop_replies;
    return false;
  }

  // Moves the next packets into `out`: packets before replies, each ring in order, except that packets of the first
  // one's flow leave with it. False: nothing is queued, or the plane of the first packet has no room. Packets of a
  // plane whose port is down are dropped.
  bool pop(TxBurst* out, PlaneSet planes_with_room);

  bool empty() const { return packets_.count() == 0 && replies_.count() == 0; }
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
  void seal(ControlPacket* p, const wire::Flow& flow, EvIndex ev, uint32_t headers, uint32_t padding) const;
  bool pop(ControlRing* ring, TxBurst* out, PlaneSet planes_with_room);
  void copy_padded(const ControlPacket& p, TxBurst* out);
  void copy_flow(ControlRing* ring, TxBurst* out) const;

  EngineContext& engine_;
  ControlRing packets_{kMaxPackets};
  ControlRing replies_{kMaxReplies};
  ReplyLimiter limiter_;
  std::vector<uint8_t> padded_;  // the padded packet returned by pop()
};

}  // namespace mrc::core
