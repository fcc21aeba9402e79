// Arithmetic with the histograms of reports, whose counts only grow. Pure functions, any thread. [MRC-MON-9]
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "ctl/messages.h"

namespace mrc::ctl {

inline bool has_fallen(const DelayReport& now, const DelayReport& last) {
  if (now.sum_ns < last.sum_ns || now.counts.size() < last.counts.size()) return true;
  for (size_t i = 0; i < last.counts.size(); ++i)
    if (now.counts[i] < last.counts[i]) return true;
  return false;
}

// What came after `last`, which is not more than `now`.
inline DelayReport growth(DelayReport now, const DelayReport& last) {
  now.sum_ns = now.sum_ns - last.sum_ns;
  for (size_t i = 0; i < last.counts.size(); ++i) now.counts[i] = now.counts[i] - last.counts[i];
  return now;
}

// The token of a report that was not requested. It has the last figures of peers that the process no longer has, and
// nothing else: a number in it may be that of another peer in the next report. No request has this token.
inline constexpr uint64_t kLastFigures = 0;

// No sample is in it.
inline bool is_empty(const DelayReport& delays) {
  return std::all_of(delays.counts.begin(), delays.counts.end(), [](const auto& count) { return count == 0; });
}

// Both histograms of a peer.
struct PeerDelays {
  DelayReport completion, retransmission;
};

inline bool has_fallen(const PeerDelays& now, const PeerDelays& last) {
  return has_fallen(now.completion, last.completion) || has_fallen(now.retransmission, last.retransmission);
}

inline PeerDelays growth(PeerDelays now, const PeerDelays& last) {
  return {growth(std::move(now.completion), last.completion),
          growth(std::move(now.retransmission), last.retransmission)};
}

}  // namespace mrc::ctl
