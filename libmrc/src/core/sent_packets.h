// SentPackets: the packets of one QP that have been sent, have arrived, or count as lost, by sequence number.
// Sans-IO. Records come from a pool with the first packet and return to it when everything has arrived, so that an idle
// QP stays small; there are as many as the packets under way need, so that a QP with few of them stays in the caches.
//
//     una() <= highest_acked() <= nxt();  in_flight() + lost() + those acknowledged from una() on == nxt() - una()
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/ids.h"
#include "core/tx_window.h"
#include "invariant.h"

namespace mrc::core {

class SentPackets {
 public:
  // --- records ---
  bool open() const { return window_ != nullptr; }
  // Before up to `packets` more are sent: takes records for those and the outstanding ones, and for as many that have
  // arrived, as late reports need them; `max` is the number of packets that may be outstanding. Throws std::bad_alloc,
  // and changes nothing then.
  void make_room(TxWindowPool* pool, uint32_t packets, uint32_t max) {
    const uint64_t wanted = 2 * std::min<uint64_t>(nxt_ - una_ + packets, max);
    if (open() && capacity() >= wanted) return;
    std::unique_ptr<TxWindow> larger = pool->take(static_cast<uint32_t>(wanted));
    if (!open()) first_ = nxt_;
    if (open() && nxt_ - first_ > capacity()) first_ = nxt_ - capacity();
    for (uint64_t s = first_; s < nxt_; ++s) (*larger)[s] = (*window_)[s];
    for (uint64_t s = una_; s < nxt_; ++s)
      if (window_->in_flight().test(s)) larger->in_flight().set(s);
    close(pool);
    window_ = std::move(larger);
  }
  void close(TxWindowPool* pool) {
    if (window_ == nullptr) return;
    if (in_flight_ > 0) window_->in_flight().reset();
    pool->give(std::move(window_));
  }
  // Number of records; only while open().
  uint32_t capacity() const { return window_->size(); }
  // True if there is a record of `seq`, also of a packet that has arrived, until its slot is reused.
  bool remembers(int64_t seq) const {
    return open() && seq >= static_cast<int64_t>(first_) && seq < static_cast<int64_t>(nxt_) &&
           seq + static_cast<int64_t>(capacity()) >= static_cast<int64_t>(nxt_);
  }
  const TxRecord& operator[](uint64_t seq) const { return (*window_)[seq]; }

  uint64_t una() const { return una_; }                      // oldest packet not known to have arrived
  uint64_t nxt() const { return nxt_; }                      // next packet to be sent for the first time
  uint64_t highest_acked() const { return highest_acked_; }  // one past the highest packet known to have arrived
  uint32_t in_flight() const { return in_flight_; }          // neither known to have arrived nor counted as lost
  uint32_t lost() const { return lost_; }                    // counted as lost and not retransmitted yet
  bool all_arrived() const { return una_ == nxt_; }
  // The first packet in flight of [from, end), which are outstanding; end: there is none.
  uint64_t next_in_flight(uint64_t from, uint64_t end) const {
    return open() ? window_->in_flight().find(from, end) : end;
  }
  // True if `seq` is the oldest one and is to be retransmitted because of its timeout.
  bool oldest_timed_out(uint64_t seq) const {
    if (lost_ == 0 || seq != una_) return false;
    const TxRecord& r = (*window_)[seq];
    return r.lost && r.lost_by == TraceTrigger::kTimedOut;
  }
  // True if it is between una() and nxt().
  bool outstanding(int64_t seq) const { return seq >= static_cast<int64_t>(una_) && seq < static_cast<int64_t>(nxt_); }

  // --- sending ---
  // The packet nxt() has been sent on that EV.
  void on_sent(Instant now, EvIndex ev, uint16_t nominal) {
    window_->in_flight().set(nxt_);
    TxRecord& r = (*window_)[nxt_++];
    r.on_sent(now);
    r.ev = ev;
    r.nominal = nominal;
    ++in_flight_;
    check();
  }
  // A packet that is lost() has been retransmitted.
  void on_sent_again(Instant now, uint64_t seq, EvIndex ev, uint16_t nominal) {
    TxRecord& r = (*window_)[seq];
    r.lost = false;
    r.on_sent_again(now);
    r.ev = ev;
    r.nominal = nominal;
    --lost_;
    ++in_flight_;
    window_->in_flight().set(seq);
    lost_hint_ = seq + 1;
    check();
  }
  // The first lost packet at or above `from`. Those below have been retransmitted or are not lost.
  std::optional<uint64_t> next_lost(uint64_t from) {
    if (lost_ == 0) return std::nullopt;
    for (uint64_t s = std::max(from, lost_hint_); s < nxt_; ++s) {
      if (!(*window_)[s].lost) continue;
      lost_hint_ = s;
      return s;
    }
    return std::nullopt;
  }

  // --- reports ---
  enum class Arrival : uint8_t { kKnown, kInFlight, kLost };
  // An outstanding packet has arrived; returns its former state.
  Arrival on_arrived(uint64_t seq) {
    TxRecord& r = (*window_)[seq];
    if (r.acked) return Arrival::kKnown;
    const bool was_lost = r.lost;
    r.acked = true;
    r.lost = false;
    window_->in_flight().clear(seq);
    --(was_lost ? lost_ : in_flight_);
    highest_acked_ = std::max(highest_acked_, seq + 1);
    return was_lost ? Arrival::kLost : Arrival::kInFlight;
  }
  // Moves una() past the packets that have arrived.
  void advance() {
    while (una_ < nxt_ && (*window_)[una_].acked) ++una_;
    check();
  }
  // All packets below `end` have been reported as arrived.
  void advance_to(uint64_t end) {
    una_ = std::max(una_, end);
    advance();
  }
  // A packet in flight counts as lost.
  void on_lost(uint64_t seq, TraceTrigger by) {
    TxRecord& r = (*window_)[seq];
    r.lost = true;
    r.lost_by = by;
    window_->in_flight().clear(seq);
    --in_flight_;
    ++lost_;
    lost_hint_ = std::min(lost_hint_, seq);
    check();
  }
  // A lost one is to be retransmitted for its timeout now, whatever it was lost by.
  void on_lost_timed_out(uint64_t seq) { (*window_)[seq].lost_by = TraceTrigger::kTimedOut; }
  // Every packet sent so far has been reported by now, or does not arrive.
  void on_all_reported() { highest_acked_ = nxt_; }

  // Clears everything; the next packet is `next`. Call close() first.
  void restart(uint64_t next) {
    first_ = una_ = nxt_ = highest_acked_ = lost_hint_ = next;
    in_flight_ = lost_ = 0;
  }

  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(una_ <= highest_acked_ && highest_acked_ <= nxt_);
    MRC_INVARIANT(uint64_t{in_flight_} + lost_ <= nxt_ - una_);
    MRC_INVARIANT(open() || una_ == nxt_);
    MRC_INVARIANT(!open() || nxt_ - una_ <= capacity());
    if (pace_.due(nxt_ - una_)) check_records();
  }

 private:
  void check_records() const {
    uint64_t acked = 0, flying = 0, lost = 0;
    for (uint64_t s = una_; s < nxt_; ++s) {
      const TxRecord& r = (*window_)[s];
      MRC_INVARIANT(r.sends > 0 && !(r.acked && r.lost));
      MRC_INVARIANT(window_->in_flight().test(s) == (!r.acked && !r.lost));
      MRC_INVARIANT(!r.acked || s < highest_acked_);
      MRC_INVARIANT(!r.lost || s >= lost_hint_);
      ++(r.acked ? acked : r.lost ? lost : flying);
    }
    MRC_INVARIANT(flying == in_flight_ && lost == lost_);
    MRC_INVARIANT(in_flight_ + acked + lost_ == nxt_ - una_);
  }

  std::unique_ptr<TxWindow> window_;
  uint64_t first_ = 0;  // records before this one are of another QP
  uint64_t una_ = 0, nxt_ = 0, highest_acked_ = 0;
  uint64_t lost_hint_ = 0;  // no lost packet below
  uint32_t in_flight_ = 0, lost_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
