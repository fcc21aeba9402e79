// The order in which a receiver polls the driver and the pipes of this host. Both must be read: bursts from pipes must
// not starve the driver, nor those of the driver the pipes.
//
// A pipe is read only after the packets that its peer sent through the driver before. A pipe that has its first bursts
// is marked; the marked pipes become readable when the driver, polled after that, is empty, or has been polled
// kMaxPollsWhileMarked times, because other senders may keep it full [MRC-LOCAL-4].
//
// It polls nothing itself. One thread.
#pragma once

#include <cstdint>
#include <span>

namespace mrc::datapath {

class PollOrder {
 public:
  // Of the calls of rx_burst() after one that polled the driver, the n-th polls it first, the earlier ones the pipes.
  static constexpr int kCallsPerDriverPoll = 8;
  static constexpr int kCallsPerDriverPollWhileMarked = 2;
  // Polls of the driver that returned bursts, after which marked pipes wait no longer.
  static constexpr int kMaxPollsWhileMarked = 64;

  enum class Source : uint8_t { kDriver, kPipes };

  // Sources that this call of rx_burst() polls, in this order, until one returns bursts. `marked`: a marked pipe waits.
  // The pipes come a second time if they may have become readable in between.
  std::span<const Source> next_call(bool marked) {
    static constexpr Source kDriverFirst[] = {Source::kDriver, Source::kPipes};
    static constexpr Source kPipesFirst[] = {Source::kPipes, Source::kDriver, Source::kPipes};
    marked_ = marked;
    if (++calls_ >= (marked ? kCallsPerDriverPollWhileMarked : kCallsPerDriverPoll)) {
      calls_ = 0;  // also if the driver throws
      return kDriverFirst;
    }
    return std::span(kPipesFirst).first(marked ? 3 : 2);
  }

  // To be called after each poll of the driver, which returned `bursts`. True: the marked pipes become readable now.
  bool driver_polled(int bursts) {
    calls_ = 0;
    if (!marked_) return false;
    if (bursts > 0 && ++polls_while_marked_ < kMaxPollsWhileMarked) return false;
    polls_while_marked_ = 0;
    return true;
  }

 private:
  bool marked_ = false;         // in this call
  int calls_ = 0;               // since the driver was polled
  int polls_while_marked_ = 0;  // of the driver, that returned bursts
};

}  // namespace mrc::datapath
