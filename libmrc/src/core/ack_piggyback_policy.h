// AckPiggybackPolicy: decides whether the transport ACK of a message is piggybacked on the next data or waits for
// later data.
//
// As a segment behind the data it needs no system call of its own, but adds a fifteenth to the latency of a small
// message. Most peers continue without it, others wait for each of their completions. The kind of a peer shows when an
// ACK is left out: the former send a message before the timer sends the ACK separately. So ACKs to the former are
// piggybacked on every eighth message; the latter are tried again at growing intervals. [MRC-ACK-3]
#pragma once

#include <algorithm>
#include <cstdint>

#include "invariant.h"

namespace mrc::core {

class AckPiggybackPolicy {
 public:
  enum class Choice : uint8_t { kPiggyback, kLeaveOut, kLeftOutBefore };

  // Data is about to leave while the ACK for messages up to `msn` is pending. An omitted ACK restarts the timer.
  Choice choose(uint32_t msn) {
    if (left_out_ > 0 && msn == last_left_out_) return Choice::kLeftOutBefore;  // more data, but no more messages
    const bool try_it = left_out_ == 0 && ++piggybacked_ > pause_;
    if (left_out_ == kMaxLeftOut || !(keeps_sending_ || try_it)) return Choice::kPiggyback;
    ++left_out_;
    last_left_out_ = msn;
    return Choice::kLeaveOut;
  }
  bool left_out() const { return left_out_ > 0; }
  // A message has arrived.
  void on_message() {
    if (left_out_ == 0) return;
    keeps_sending_ = true;
    pause_ = kFirstPause;
    piggybacked_ = 0;
  }
  // The timer sends the omitted ACK.
  void on_silence() {
    if (left_out_ == 0) return;
    pause_ = keeps_sending_ ? kFirstPause : static_cast<uint16_t>(std::min(pause_ * 2, kLongestPause));
    keeps_sending_ = false;
    left_out_ = 0;
    piggybacked_ = 0;
  }
  // An ACK was sent, for any reason.
  void on_sent() { left_out_ = 0; }
  void check() const {
    MRC_INVARIANT(left_out_ <= kMaxLeftOut);
    MRC_INVARIANT(pause_ >= kFirstPause && pause_ <= kLongestPause);
  }

  static constexpr uint8_t kMaxLeftOut = 7;
  static constexpr uint16_t kFirstPause = 8;  // ACKs piggybacked before one is left out again
  static constexpr int kLongestPause = 4096;

 private:
  uint32_t last_left_out_ = 0;
  uint16_t piggybacked_ = 0;
  uint16_t pause_ = kFirstPause;
  uint8_t left_out_ = 0;
  bool keeps_sending_ = false;
};

}  // namespace mrc::core
