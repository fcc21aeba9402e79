// EvHealth and PlaneHealth: what the packets of one EV, and those of all EVs of a plane, have shown. EvHealthTable has
// one for each EV and plane. All times are send times of packets: deliveries and losses become known in any order.
// Sans-IO. [MRC-EVS-4..5] [MRC-EVS-18] [MRC-EVS-20]
#pragma once

#include <cstdint>

#include "base/planes.h"
#include "base/time.h"
#include "core/delivered_share.h"
#include "core/status.h"

namespace mrc::core {

// What each packet and each acknowledgement touch comes first.
struct EvHealth {
  Instant last_delivered_sent = kLongAgo;
  Instant last_loss_sent = kLongAgo;
  Instant first_data = Instant::never();  // when the first packet that will be acknowledged was sent
  uint64_t tx_packets = 0;
  uint64_t tx_bytes = 0;
  Duration rtt;  // smoothed; 0: no sample yet
  EvState state = EvState::kGood;
  PlaneId plane;
  bool active = false;
  uint8_t streak = 0;  // losses that count, without a delivery since the first
  uint8_t waits = 0;   // turns given up before the first delivery
  uint64_t losses = 0;
  uint64_t losses_reported = 0;
  uint64_t ecn_marks = 0;

  // It has carried data and delivered nothing.
  bool unproven() const { return last_delivered_sent == kLongAgo && first_data < Instant::never(); }
};
static_assert(sizeof(EvHealth) == 80);

struct PlaneHealth {
  static constexpr uint32_t kStreak = 4;  // losses at different times without one delivery
  static constexpr Duration kGapMemory = Duration::milliseconds(50);

  // True: nothing that was sent between these two was delivered, though something before and after them.
  bool in_gap(Instant first, Instant second) const { return gap_from < first && second < gap_to; }
  void on_delivered(Instant now, Instant sent_at, uint32_t packets = 1) {
    delivered_at = now;
    share.on_delivered(packets);
    if (streak != 0 && sent_at >= last_loss_sent) streak = 0;
    if (sent_at <= last_delivered_sent) return;
    const bool larger = sent_at - last_delivered_sent >= gap_to - gap_from || sent_at - gap_to > kGapMemory;
    if (last_delivered_sent > kLongAgo && larger) {
      gap_from = last_delivered_sent;
      gap_to = sent_at;
    }
    last_delivered_sent = sent_at;
  }
  // True: it carries nothing.
  bool on_lost(Instant sent_at) {
    if (sent_at <= last_delivered_sent && !in_gap(sent_at, sent_at)) share.on_lost();
    if (sent_at <= last_delivered_sent || sent_at <= last_loss_sent) return false;
    last_loss_sent = sent_at;
    return ++streak >= kStreak;
  }

  Instant last_delivered_sent = kLongAgo;
  Instant delivered_at = kLongAgo;                 // when something was delivered last
  Instant gap_from = kLongAgo, gap_to = kLongAgo;  // the largest one lately
  Instant last_loss_sent = kLongAgo;
  Duration rtt;  // smoothed; 0: no sample yet
  uint32_t streak = 0;
  DeliveredShare share;         // with a part of the plane that is down, of the rest
  uint16_t nominal_active = 0;  // its EVs in the active set, as configured
};

}  // namespace mrc::core
