// DelayReports: the histograms that a device has reported to mrcd, so that mrcd counts each request once. [MRC-MON-9]
//
// A connection's reports count from its beginning: what was reported to the connections before it is in the series
// of their daemon, or has ended with it. A peer that is released after a report has its last figures in the next one.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "core/types.h"
#include "ctl/delays.h"
#include "ctl/messages.h"
#include "invariant.h"

namespace mrc::device {

class DelayReports {
 public:
  using Peers = std::vector<ctl::PeerReport>;
  static constexpr size_t kMaxReleased = 4096;  // between two reports; the figures of more are lost

  void on_connected();
  // `last`: its figures since it was made.
  void on_released(ctl::PeerReport last);

  // Around the collection of the figures of all peers, each since the peer was made. next() replaces them by those of
  // this connection, and returns those of the peers that were released since the last call.
  void begin();
  Peers next(Peers* peers);
  void check() const;

 private:
  struct Reported {
    ctl::PeerDelays before, last;  // by the connections before this one; by all
  };
  struct Released {
    ctl::PeerReport last;
    Reported reported;
  };
  static void subtract(ctl::PeerReport* peer, Reported* reported);

  std::map<core::PeerId, Reported> reported_;
  std::vector<Released> released_;
  size_t released_before_ = 0;  // at begin(): the rest may be among the peers that were collected
  mutable InvariantPace pace_;
};

}  // namespace mrc::device
