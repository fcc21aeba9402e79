// Latency by ping-pong: the client writes, the server detects the write and writes back. Half the round trip is the
// figure. For plain writes both sides poll the last byte in memory and let the library make progress; for writes with
// immediate they poll for the completion. The client counts rounds or uses the clock, and notifies the server
// afterwards how many there were. Further runs continue the numbering of rounds.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "connection.h"

namespace mrc::perf {

struct LatencyResult {
  uint64_t samples = 0;
  double min_us = 0, p50_us = 0, p90_us = 0, p99_us = 0, p999_us = 0, max_us = 0, mean_us = 0;
  double seconds = 0;
  double cpu_s = 0;
  uint64_t sent = 0, received = 0, repeated = 0;  // of datagrams: of this side; the rounds that were asked for again
};

// Of writes and of datagrams.
struct LatencyRounds {
  static constexpr uint64_t kWarmUp = 1000, kSliceWarmUp = 100;
  static constexpr uint64_t kSignalEvery = 16, kQueue = 64;  // sends
};

struct LatencySetup {
  const Options& options;
  const Plan& plan;
  const Connection& connection;
  const Memory& source;
  const Memory& buffer;
  Oob& oob;
  bool client;
};

class Latency {
 public:
  explicit Latency(const LatencySetup& setup);
  void post_first_receives();
  LatencyResult run(double seconds);  // 0: the rounds of the options
  LatencyResult so_far() const;       // what a run that has failed had measured

 private:
  void post(uint64_t round);
  // False, at the server, when the client has stopped before this round.
  bool wait(uint64_t round);
  void poll();
  void check_peer();
  bool stopped_before(uint64_t round) const { return round >= rounds_; }
  void run_client(double seconds);

  const LatencySetup s_;
  uint64_t posted_ = 0, released_ = 0, receives_seen_ = 0;
  uint64_t spins_ = 0;
  std::chrono::steady_clock::time_point limit_ = std::chrono::steady_clock::time_point::max();
  uint64_t round_ = 0;            // of all runs
  uint64_t rounds_ = UINT64_MAX;  // server: number of the round after the run's last one, as reported by the client
  volatile uint8_t* last_byte_ = nullptr;
  std::vector<uint32_t> samples_;                                                   // of the run
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();  // of the run
  double cpu_before_ = 0;
};

// Sorts and picks; nanoseconds of half round trips.
LatencyResult summarise(std::vector<uint32_t> half_round_trips_ns);

}  // namespace mrc::perf
