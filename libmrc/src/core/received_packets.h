// ReceivedPackets: the packets of one QP that have arrived, by sequence number: all below expected(), and those that a
// bitmap holds above it. Sequence numbers count from kOrigin, so that a PSN before the first one has a number, too.
//
//     expected() <= end() <= expected() + window();  as many bits are set as packets wait for an earlier one
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/bitmap.h"
#include "core/message_map.h"
#include "invariant.h"

namespace mrc::core {

class ReceivedPackets {
 public:
  static constexpr uint64_t kOrigin = MessageMap::kOrigin;

  void reset() {
    const uint64_t packets = packets_;  // counted over the life of the QP
    *this = ReceivedPackets();
    packets_ = packets;
  }
  void set_window(uint32_t psns) { window_ = psns; }
  uint32_t window() const { return window_; }
  bool in_window(int64_t delta) const { return delta < static_cast<int64_t>(window_); }  // of expected()
  // Room for a window of packets. Throws std::bad_alloc.
  void allocate() { above_.resize(window_); }
  uint32_t capacity() const { return above_.size(); }  // packets for which there is room; 0: none is allocated

  uint64_t expected() const { return expected_; }  // the next packet in order: cack_psn + 1
  uint64_t end() const { return end_; }            // one past the highest packet that has arrived
  uint32_t out_of_order() const { return out_of_order_; }
  uint64_t packets() const { return packets_; }
  uint64_t nominal_bytes() const { return nominal_bytes_; }  // the basis of rcvd_bytes
  // True if it has arrived. `seq` is in the window or below it.
  bool contains(uint64_t seq) const { return seq < expected_ || (seq < end_ && above_.test(seq)); }
  bool next_arrived() const { return expected_ < end_ && above_.test(expected_); }
  // Of the 64 packets from `first` on, above expected(), bit 0 = first.
  uint64_t above(uint64_t first) const { return above_.window(first); }

  void add(uint64_t seq, uint32_t nominal) {
    above_.set(seq);
    ++packets_;
    ++out_of_order_;
    nominal_bytes_ += nominal;
    end_ = std::max(end_, seq + 1);
  }
  // The packet expected() has arrived and is completed.
  void advance() {
    above_.clear(expected_);
    --out_of_order_;
    ++expected_;
  }

  void check() const {
    if constexpr (!kCheckInvariants) return;
    MRC_INVARIANT(expected_ >= kOrigin && expected_ <= end_ && end_ <= expected_ + window_);
    MRC_INVARIANT(out_of_order_ <= end_ - expected_);
    MRC_INVARIANT(out_of_order_ == 0 || contains(end_ - 1));
    if (!pace_.due(end_ - expected_, 64)) return;
    uint32_t set = 0;
    for (uint64_t s = expected_; s < end_; ++s) set += above_.test(s);
    MRC_INVARIANT(set == out_of_order_);
  }

 private:
  RingBitmap above_;
  uint32_t window_ = 0;  // PSNs accepted from expected_ on
  uint64_t expected_ = kOrigin, end_ = kOrigin;
  uint64_t packets_ = 0, nominal_bytes_ = 0;
  uint32_t out_of_order_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::core
