// DeliveredShare: the share of its packets that a plane delivers, over the last 256 bursts or so [MRC-EVS-20]. Sans-IO.
//
// A moving average over packets. A host may lose a burst as one, and then its packets are one event: the more packets a
// burst has, the less each of them weighs. To count each burst once instead would take a plane that loses one packet of
// each burst for one that loses half of them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mrc::core {

class DeliveredShare {
 public:
  static constexpr uint32_t kWhole = 1 << 24;
  static constexpr uint32_t kBursts = 256, kProbes = 16;  // that are averaged

  uint32_t value() const { return share_; }  // all: kWhole
  // As much was counted since retest() as is averaged: others may be compared with it.
  bool tested() const { return seen_ >= kWhole; }
  void retest() { seen_ = 0; }

  // A burst of so many packets was sent. The largest burst lately counts.
  void on_sent(uint32_t packets) {
    constexpr uint32_t kDecay = 16;
    if (packets == burst_ || packets == 0) return;
    burst_ = packets > burst_ ? packets : burst_ - (burst_ - packets + kDecay - 1) / kDecay;
  }
  void on_delivered(uint32_t packets = 1) {
    if (share_ == kWhole && tested()) return;  // it would change nothing
    for (; packets > 0; --packets) add(true, weight());
  }
  void on_lost() { add(false, weight()); }
  void on_probe(bool answered) { add(answered, kWhole / kProbes); }
  // A packet that counted as lost has arrived: as if its loss had not been counted. Its delivery is counted by itself.
  void on_loss_refuted() { share_ = std::min(kWhole, share_ + part(weight())); }

 private:
  void add(bool delivered, uint32_t weight) {
    share_ = share_ - part(weight) + (delivered ? weight : 0);
    seen_ = std::min(kWhole, seen_ + weight);
  }
  uint32_t weight() const { return kWhole / (kBursts * burst_); }  // of a packet
  uint32_t part(uint32_t weight) const { return static_cast<uint32_t>(uint64_t{share_} * weight / kWhole); }

  uint32_t share_ = kWhole;
  uint32_t seen_ = 0;   // weight of all that was counted
  uint32_t burst_ = 1;  // packets
};

}  // namespace mrc::core
