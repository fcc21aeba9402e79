// FirstProbes: the order and times of the probes that test each link towards a peer once before it is used: from the
// connection on, one after the other, spread over a time, until the first message. Sans-IO; no allocation. [MRC-EVS-15]
//
// One probe per link, not per EV, and spread, so that they are no burst in the network: 32 T1s on 8 planes are 256
// packets to each peer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"
#include "core/ev_links.h"
#include "invariant.h"

namespace mrc::core {

class FirstProbes {
 public:
  // `first` < `links`: where to begin, so that hosts that connect together do not test one T1 together. Once only.
  void begin(Instant at, uint32_t links, uint32_t first, Duration over) {
    if (begun()) return;
    began_ = at_ = at;
    left_ = count_ = links;
    next_ = first;
    step_ = links == 0 ? Duration() : over / links;
  }
  // Data take over, in either direction.
  void end() { left_ = 0; }
  bool begun() const { return began_ < Instant::never(); }
  Instant began() const { return began_; }  // time of the first one; never(): not yet
  Instant next_time() const { return left_ != 0 ? at_ : Instant::never(); }
  // The next link that is due; call until it returns none.
  std::optional<LinkIndex> take(Instant now) {
    if (left_ == 0 || at_ > now) return std::nullopt;
    const LinkIndex link(static_cast<uint16_t>(next_));
    next_ = next_ + 1 == count_ ? 0 : next_ + 1;
    --left_;
    at_ = at_ + step_;
    return link;
  }
  // Not before that time.
  void postpone(Instant to) { at_ = std::max(at_, to); }
  void check() const { MRC_INVARIANT(left_ <= count_ && (count_ == 0 || next_ < count_)); }

 private:
  Instant began_ = Instant::never();
  Instant at_ = Instant::never();
  Duration step_;
  uint32_t count_ = 0, left_ = 0, next_ = 0;
};

}  // namespace mrc::core
