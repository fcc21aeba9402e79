// mrcctl show ports | profiles | denies | qps | evs | monitor, and watch: from mrcd and the processes of this host.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace mrcctl {

class Daemon;

struct LiveOptions {
  std::string socket, device;
  uint32_t pid = 0;       // only this process
  bool troubled = false;  // evs: only those with losses, marks, or not good
  bool json = false;
};

// Of the processes selected by the options, now.
nlohmann::json reports_of(Daemon* daemon, const LiveOptions& options);

// "up", "down", or "out": its sockets could not be opened, and "out" of the report has the reason.
const char* state_of_port(const nlohmann::json& port);

int show_ports(const LiveOptions& options);
int show_profiles(const LiveOptions& options);
int show_denies(const LiveOptions& options);
int show_qps(const LiveOptions& options);
int show_evs(const LiveOptions& options);
int show_monitor(const LiveOptions& options);
// A table that is refreshed every `interval_s`, `rounds` times (0: until interrupted).
int watch(const LiveOptions& options, double interval_s, uint64_t rounds);

}  // namespace mrcctl
