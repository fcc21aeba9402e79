// SelectiveRepeat: what a RoCEv2 sender that repeats selectively knows of its packets in flight. A QP has one path that
// keeps the order, so a packet below one that the receiver holds is lost, and is sent again once; if that is lost as
// well, the timeout finds it, for which everything counts as lost that the receiver is not known to hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "invariant.h"

namespace mrc::sim {

class SelectiveRepeat {
 public:
  void on_sent(uint64_t psn) {
    while (una_ + packets_.size() <= psn) packets_.push_back(State::kInFlight);
    if (psn < lost_below_ && packets_[psn - una_] == State::kInFlight) packets_[psn - una_] = State::kSentAgain;
  }

  // The receiver has everything below `next`.
  void on_ack(uint64_t next) {
    for (; una_ < next; ++una_)
      if (!packets_.empty()) packets_.pop_front();
    cursor_ = std::max(cursor_, una_);
    check();
  }

  // The receiver holds `psn` and misses something before it.
  void on_held(uint64_t psn) {
    if (psn < una_ || psn - una_ >= packets_.size()) return;
    packets_[psn - una_] = State::kHeld;
    lost_below_ = std::max(lost_below_, psn);
    check();
  }

  void on_timeout() {
    std::replace(packets_.begin(), packets_.end(), State::kSentAgain, State::kInFlight);
    lost_below_ = una_ + packets_.size();
    cursor_ = una_;
    check();
  }

  // The first packet that is to be sent again.
  std::optional<uint64_t> lost() {
    for (; cursor_ < lost_below_; ++cursor_)
      if (packets_[cursor_ - una_] == State::kInFlight) return cursor_;
    return std::nullopt;
  }

  void check() const { MRC_INVARIANT(cursor_ >= una_ && lost_below_ <= una_ + packets_.size()); }

 private:
  enum class State : uint8_t { kInFlight, kSentAgain, kHeld };
  std::deque<State> packets_;  // from una_ on
  uint64_t una_ = 0;
  uint64_t lost_below_ = 0;  // what is below and neither held nor sent again is lost
  uint64_t cursor_ = 0;      // nothing below is to be sent again
};

}  // namespace mrc::sim
