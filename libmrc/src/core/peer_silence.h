// PeerSilence: finds answers that a host delayed and not the network. While a host does not run, nothing of a peer is
// read, over any plane, and what was sent before looks late by that time. Queues of a network look otherwise: answers
// come all the time, at the rate of the link. So a silence counts where it is much longer than usual between answers;
// those of a slow link, of which each burst takes long, are usual. One per peer, fed by the answers to all QPs.
// Sans-IO; no allocation. [MRC-NSCC-34]
#pragma once

#include <algorithm>

#include "base/time.h"

namespace mrc::core {

class PeerSilence {
 public:
  static constexpr Duration kMin = Duration::microseconds(300);    // twice the host's usual jitter
  static constexpr Duration kCatchUp = Duration::milliseconds(1);  // what came meanwhile is taken to be read then
  static constexpr int64_t kUnusual = 8;                           // times the usual gap
  static constexpr Duration kMaxGap = Duration::milliseconds(10);  // an idle time is no gap of a stream of answers

  void on_answer(Instant now) {
    if (last_ > kLongAgo) {
      const Duration gap = now - last_;
      if (gap > kMin && gap > usual_ * kUnusual) ended_ = now;
      usual_ = usual_ + (std::min(gap, kMaxGap) - usual_) / 16;
    }
    last_ = now;
  }
  // Whether the answer read at `now` to what was sent at `sent_at` may have waited for a host.
  bool delayed(Instant now, Instant sent_at) const { return sent_at < ended_ && now - ended_ < kCatchUp; }

 private:
  Instant last_ = kLongAgo;   // answer
  Instant ended_ = kLongAgo;  // of the last silence
  Duration usual_;            // between answers, smoothed
};

}  // namespace mrc::core
