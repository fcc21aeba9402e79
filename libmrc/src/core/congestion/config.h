// Configuration of congestion control: an algorithm of the registry, properties of the network that any of them
// needs, and parameters of the algorithm by name. The device fills it from its settings or from a CC profile, the
// simulator from its transport map; a QP that starts makes its object from it [MRC-CC-11].
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace mrc::core {

struct CongestionAlgorithm;

struct CongestionConfig {
  const CongestionAlgorithm* algorithm = nullptr;  // null: the first of the registry
  // [MRC-NSCC-CHOICE-10]
  double line_rate_bps = 100e9;                    // min of both ends, all planes together
  Duration base_rtt = Duration::microseconds(12);  // R: unloaded RTT of one MTU packet over the longest path
  bool measure_rate = false;                       // line_rate_bps is a guess, to be measured [MRC-NSCC-26]
  bool measure_rtt = false;                        // base_rtt likewise
  Duration host_jitter;                            // delay caused by the host itself and not by congestion [MRC-NSCC-5]

  // Parameters by the names of the algorithm's table; times in nanoseconds, sizes in bytes, flags 0 or 1. A name that
  // the algorithm does not have is ignored, one that is not set has its default.
  void set(const char* name, double value);
  void set(const char* name, Duration value) { set(name, static_cast<double>(value.ns())); }
  double get(const char* name, double unset) const;
  Duration get_time(const char* name) const;

 private:
  std::vector<std::pair<std::string, double>> parameters_;
};

// Values of the QP.
struct CongestionFlow {
  uint32_t mtu = 4160;         // nominal size of a full packet
  uint32_t ack_bytes = 16384;  // number of bytes after which a receiver acknowledges without a request
  bool trimming = false;       // the fabric trims and the peer answers trimmed packets
};

}  // namespace mrc::core
