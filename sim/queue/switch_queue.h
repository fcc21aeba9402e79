// SwitchQueue: what a switch does to packets that wait for one link; the simulator's port and mrc-switch's both have
// one.
//
//     control     strictly first
//     trimmed     a share of the line while data waits, all of it otherwise
//     data        beyond `data_limit` a packet that may be trimmed is trimmed; one that may not be is dropped beyond
//                 `drop_limit` (without trimming: beyond `data_limit`)
//
// Packets beyond the limit of the control or trimmed queue are dropped. A data packet whose sending begins is marked CE
// with a probability that rises from 0 to `ecn_share` between `ecn_min` and `ecn_max` of the data that it leaves
// behind, and beyond `ecn_max` for certain [spec/switch.md MRC-SW-1..3, spec/nscc.md, spec/wire.md MRC-DSCP-1].
//
// No clock, no line and no bytes of a packet: the owner trims, marks and drops according to the results. `Packet` has
// the members bytes, next, tc and trimmable. Sizes are in bytes, counted as the owner counts them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rng.h"
#include "invariant.h"
#include "sim/queue/fifo.h"

namespace mrc::queueing {

enum class TrafficClass : uint8_t { kControl, kTrimmed, kData };

struct QueueRules {
  bool trimming = false;
  bool trim_random = false;   // a toss between the arriving packet and the newest that waits
  bool last_hop = false;      // to a host: trimmed packets are marked as such
  uint32_t trim_bytes = 128;  // of what is left of a trimmed packet
  int64_t data_limit = INT64_MAX;
  int64_t drop_limit = INT64_MAX;
  int64_t trimmed_limit = INT64_MAX;
  int64_t control_limit = INT64_MAX;
  double trimmed_share = 0.25;
  int64_t ecn_min = INT64_MAX, ecn_max = INT64_MAX;
  double ecn_share = 1;
};

template <typename Packet>
class SwitchQueue {
 public:
  SwitchQueue(const QueueRules& rules, Rng* rng) : rules_(rules), rng_(rng) {}

  // Queues `p`, whole or trimmed. Null, or the packet without room, which the caller owns again: `p`, or the newest
  // one in whose place `p` waits. `trim(Packet*)` cuts a packet and makes it one of class kTrimmed.
  template <typename Trim>
  Packet* offer(Packet* p, const Trim& trim) {
    // Without the toss the bursts of one sender are cut as a whole.
    if (rules_.trim_random && rules_.trimming && p->tc == TrafficClass::kData && p->trimmable && !data_.empty() &&
        data_.bytes() + p->bytes > rules_.data_limit && (rng_->next() >> 63) != 0)
      p = data_.exchange_newest(p);
    if (p->tc == TrafficClass::kData && rules_.trimming && p->trimmable && data_.bytes() + p->bytes > rules_.data_limit)
      trim(p);
    Fifo<Packet>& queue = of(p->tc);
    if (queue.bytes() + p->bytes > limit(*p)) return p;
    queue.push(p);
    MRC_INVARIANT(trimmed_.bytes() <= rules_.trimmed_limit && control_.bytes() <= rules_.control_limit);
    return nullptr;
  }

  // The packet to send; null: none may be sent. `data_paused`: data is held (PFC).
  Packet* next(bool data_paused = false) {
    if (Packet* p = control_.pop()) return p;
    const bool data_waits = !data_.empty() && !data_paused;
    if (!trimmed_.empty() && (!data_waits || rules_.trimmed_share >= 1 || trimmed_credit_ >= 0)) {
      Packet* p = trimmed_.pop();
      if (data_waits) trimmed_credit_ -= p->bytes;
      return p;
    }
    if (!data_waits) return nullptr;
    Packet* p = data_.pop();
    if (rules_.trimmed_share < 1) {
      trimmed_credit_ += p->bytes * rules_.trimmed_share / (1 - rules_.trimmed_share);
      if (trimmed_.empty()) trimmed_credit_ = std::min(trimmed_credit_, 0.0);  // no credit while nothing waits
    }
    return p;
  }

  // True if the data packet whose sending begins now is to be marked. For packets with ECT.
  bool marks() {
    const int64_t left = data_.bytes();
    if (left <= rules_.ecn_min) return false;
    const double share = static_cast<double>(left - rules_.ecn_min) /
                         static_cast<double>(std::max<int64_t>(1, rules_.ecn_max - rules_.ecn_min));
    return share >= 1 || rng_->unit() < share * rules_.ecn_share;
  }

  // Removes a packet, for a link that goes down. Null: the queue is empty.
  Packet* take_any() {
    for (Fifo<Packet>* queue : {&control_, &trimmed_, &data_})
      if (Packet* p = queue->pop()) return p;
    return nullptr;
  }

  const Fifo<Packet>& control() const { return control_; }
  const Fifo<Packet>& trimmed() const { return trimmed_; }
  const Fifo<Packet>& data() const { return data_; }
  uint32_t count() const { return control_.count() + trimmed_.count() + data_.count(); }

 private:
  Fifo<Packet>& of(TrafficClass tc) {
    return tc == TrafficClass::kData ? data_ : tc == TrafficClass::kTrimmed ? trimmed_ : control_;
  }
  int64_t limit(const Packet& p) const {
    if (p.tc == TrafficClass::kTrimmed) return rules_.trimmed_limit;
    if (p.tc == TrafficClass::kControl) return rules_.control_limit;
    if (!rules_.trimming || p.trimmable) return rules_.data_limit;
    return std::max(rules_.data_limit, rules_.drop_limit);
  }

  const QueueRules rules_;
  Rng* const rng_;
  double trimmed_credit_ = 0;  // bytes that trimmed packets may send before data has its turn
  Fifo<Packet> control_, trimmed_, data_;
};

}  // namespace mrc::queueing
