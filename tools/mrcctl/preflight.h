// `mrcctl preflight`: before a job, every path between the given hosts is probed and judged, and what is at fault is
// named. With `run`, a command that gets a program onto a host ("ssh {host}"), all hosts probe each other; without it,
// this host probes the given GIDs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mrcctl {

struct PreflightOptions {
  std::vector<std::string> hosts;  // names for `run`, else GIDs
  std::string run;                 // {host} is replaced; empty: from here only
  std::string program;             // as it is called on the hosts; empty: mrcctl there, this program itself here
  std::string device;
  uint32_t count = 50;  // probes of each path
  double loss = 0.02;
  uint32_t timeout_ms = 500;
  bool json = false;
};

// 0: all paths are good, 1: some are not.
int preflight(const PreflightOptions& options);

}  // namespace mrcctl
