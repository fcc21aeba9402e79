// Daemon: the assembly of mrcd: settings, devices, socket, state file, signals.
#pragma once

#include <memory>
#include <string>

#include "result.h"

namespace mrc::mrcd {

struct MonitorStatus;

struct Options {
  std::string socket;  // empty: that of the settings
  std::string state;
  bool verbose = false;
};

class Daemon {
 public:
  Daemon();
  ~Daemon();
  // EALREADY: another instance is running.
  Status start(const Options& options);
  void run();  // until SIGTERM or SIGINT

 private:
  struct Parts;
  static Status start_monitors(Parts& parts);
  static Status start_web(Parts& parts);
  static MonitorStatus monitor_status(const Parts& parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mrc::mrcd
