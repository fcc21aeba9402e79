// Two hosts of a preflight: connections both ways, round trips with the clocks' difference, and the rate of each
// direction.
#pragma once

#include <vector>

#include "schedule.h"

namespace mrc::net_bench {

struct PairMeasured {
  double sends = 0;     // Gb/s of this rank to the peer
  double rtt_us = 0;    // the shortest
  double ahead_us = 0;  // the peer's clock before this one's
};

class HostPair {
 public:
  // `handle`: where the peer listens. Throws Fail when the time is over.
  HostPair(Rank& rank, int peer, void* listen_comm, Handle handle);
  // Both call it. The lower rank asks first, and measures round trips and clocks.
  PairMeasured measure(double seconds);
  void close();

 private:
  struct Word {
    int64_t value, more;
  };
  void send(const Word& word);
  Word receive();
  void round_trips(PairMeasured* to);
  void answer_round_trips();
  double send_for(double seconds);
  void receive_all();
  void bulk(bool sends, size_t messages);

  Rank& rank_;
  const bool first_;
  void* send_comm_ = nullptr;
  void* receive_comm_ = nullptr;
  std::vector<char> data_;  // words at its beginning, slices behind them
  std::vector<Memory> memory_;
};

}  // namespace mrc::net_bench
