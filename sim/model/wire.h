// Wire: the packets under way on a link in the order of their arrival, with the instants beside them: a link looks at
// the next arrival without touching the packet, which has left the caches by then.
#pragma once

#include <cstdint>
#include <vector>

#include "invariant.h"
#include "sim/model/packet.h"

namespace mrc::sim {

class Wire {
 public:
  struct Arrival {
    Ps at;
    Packet* packet;
  };
  bool empty() const { return count_ == 0; }
  const Arrival& front() const { return ring_[first_]; }
  void push(const Arrival& a) {
    if (count_ == ring_.size()) grow();
    MRC_INVARIANT(count_ == 0 || ring_[(first_ + count_ - 1) & (ring_.size() - 1)].at <= a.at);
    ring_[(first_ + count_++) & (ring_.size() - 1)] = a;
  }
  Arrival pop() {
    const Arrival a = ring_[first_];
    first_ = (first_ + 1) & (ring_.size() - 1);
    --count_;
    return a;
  }

 private:
  void grow() {
    std::vector<Arrival> larger(ring_.empty() ? 8 : 2 * ring_.size());
    for (size_t i = 0; i < count_; ++i) larger[i] = ring_[(first_ + i) & (ring_.size() - 1)];
    ring_.swap(larger);
    first_ = 0;
  }

  std::vector<Arrival> ring_;  // a power of two
  size_t first_ = 0, count_ = 0;
};

}  // namespace mrc::sim
