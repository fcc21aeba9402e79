// Latency by ping-pong over datagrams. The number of the round travels as immediate. The client repeats a request that
// is not answered within 100 ms, and the server its answer when it gets the same request again; rounds with a
// repetition are counted and are not among the samples. A round without any answer for 10 s ends the run.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "datagrams.h"
#include "latency.h"

namespace mrc::perf {

struct DatagramSetup {
  const Options& options;
  const Plan& plan;
  Datagrams& datagrams;
  const Memory& source;
  Oob& oob;
  bool client;
};

class DatagramLatency {
 public:
  explicit DatagramLatency(const DatagramSetup& setup) : s_(setup) {}
  LatencyResult run(double seconds);  // 0: the rounds of the options
  LatencyResult so_far() const;       // what a run that has failed had measured

 private:
  void send(uint64_t round);
  void poll();
  void on_arrival(const ibv_wc& wc);
  // Nanoseconds from the request to the answer; -1: it was repeated.
  int64_t ask();
  void request_rounds(double seconds);
  void answer_rounds();
  void check_peer();

  const DatagramSetup s_;
  uint64_t round_ = 0;            // of all runs; the one that is asked or awaited
  uint64_t rounds_ = UINT64_MAX;  // server: number of the round after the run's last one, as reported by the client
  uint64_t posted_ = 0, released_ = 0, spins_ = 0;
  bool due_ = false;  // client: the round is answered; server: the round before is to be answered
  uint64_t round_at_check_ = 0;
  std::chrono::steady_clock::time_point limit_;  // of the round
  LatencyResult counts_;
  std::vector<uint32_t> samples_;                                                   // of the run
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();  // of the run
  double cpu_before_ = 0;
};

}  // namespace mrc::perf
