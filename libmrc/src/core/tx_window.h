// TxWindow: one record per packet between the oldest unacknowledged and the newest sent. Taken from a pool when a QP
// starts to send and returned when everything is acknowledged, so that an idle QP stays small.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bitmap.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/trace.h"
#include "invariant.h"

namespace mrc::core {

struct TxRecord {
  Instant sent_at;
  EvIndex ev;
  uint16_t nominal = 0;  // nominal size, counted by NSCC
  uint8_t sends = 0;     // transmissions so far, saturating
  bool acked : 1 = false;
  bool lost : 1 = false;  // declared lost, waiting for retransmission; not in flight
  TraceTrigger lost_by : 6 = TraceTrigger::kNone;

  void on_sent(Instant now) {
    sends = 1;
    acked = lost = false;
    lost_by = TraceTrigger::kNone;
    sent_at = now;
    since_first_ = 0;
  }
  void on_sent_again(Instant now) {
    const int64_t more = (now - sent_at).ns() / kTickNs + 1;
    set_since_first(static_cast<uint64_t>(since_first() + more));
    if (sends < 255) ++sends;
    sent_at = now;
  }
  // When the first copy was sent, or before that for each further copy by 1 us or, where that is more, a 2048th of the
  // time since; no more than 137 s before the last one.
  Instant first_sent_at() const { return sent_at - Duration::nanoseconds(since_first() * kTickNs); }

 private:
  static constexpr int64_t kTickNs = 1024;
  // Ticks as 12 bits and an exponent of 4: exact for a lateness of up to 4 ms, which the loss detector compares, and
  // wide enough for the timeouts of a silent peer.
  int64_t since_first() const { return int64_t{since_first_ & 0xFFF} << (since_first_ >> 12); }
  void set_since_first(uint64_t ticks) {
    unsigned exponent = 0;
    for (; ticks > 0xFFF && exponent < 15; ++exponent) ticks = (ticks + 1) / 2;
    since_first_ = static_cast<uint16_t>(exponent << 12 | std::min<uint64_t>(ticks, 0xFFF));
  }
  uint16_t since_first_ = 0;
};
static_assert(sizeof(TxRecord) == 16);

class TxWindow {
 public:
  explicit TxWindow(uint32_t packets) {
    uint32_t size = 64;
    while (size < packets) size *= 2;
    records_.resize(size);
    in_flight_.resize(size);
  }
  uint32_t size() const { return static_cast<uint32_t>(records_.size()); }
  TxRecord& operator[](uint64_t seq) { return records_[seq & (records_.size() - 1)]; }
  // Of the packets that neither have arrived nor count as lost, so that few are found fast among many that have.
  RingBitmap& in_flight() { return in_flight_; }

 private:
  std::vector<TxRecord> records_;
  RingBitmap in_flight_;
};

// Windows not in use, by size. Bounded: those beyond kKeep are freed.
class TxWindowPool {
 public:
  std::unique_ptr<TxWindow> take(uint32_t packets) {
    for (size_t i = free_.size(); i-- > 0;) {
      if (free_[i]->size() < packets || free_[i]->size() >= 4 * packets) continue;
      std::unique_ptr<TxWindow> w = std::move(free_[i]);
      free_[i] = std::move(free_.back());
      free_.pop_back();
      return w;
    }
    return std::make_unique<TxWindow>(packets);
  }
  void give(std::unique_ptr<TxWindow> w) {
    if (free_.size() < kKeep) free_.push_back(std::move(w));
  }
  TxWindowPool() { free_.reserve(kKeep); }
  void check() const {
    MRC_INVARIANT(free_.size() <= kKeep);
    for (const auto& w : free_) MRC_INVARIANT(w != nullptr && (w->size() & (w->size() - 1)) == 0);
  }

 private:
  static constexpr size_t kKeep = 64;
  std::vector<std::unique_ptr<TxWindow>> free_;
};

}  // namespace mrc::core
