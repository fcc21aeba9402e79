// `mrcctl probe`: probes every path of this host's device to the given peers, with round trips. `mrcctl respond`: be
// there to answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mrcctl {

struct ProbeOptions {
  std::string device;              // empty: the first one
  std::vector<std::string> peers;  // GIDs
  std::vector<uint8_t> ports;      // empty: all
  std::string ev;                  // empty: all
  uint32_t max_evs = 0;            // EVs per port; 0: all
  uint32_t count = 1;              // probes of each path; fewer of a failed one
  double loss = 0.02;              // a path that loses more of them is bad
  bool loops = false;              // also over the own switches and back
  uint32_t timeout_ms = 1000;      // for one probe of all paths together; at most 4000
  bool json = false;
};

// 0: every path is good, 1: some are not.
int probe(const ProbeOptions& options);
// Answers probes until the end of the standard input.
int respond(const std::string& device);

}  // namespace mrcctl
