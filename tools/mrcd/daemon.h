// Daemon: the assembly of mrcd: settings, devices, socket, state file, signals.
#pragma once

#include <memory>
#include <string>

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
  // False and a sentence; *busy: another instance is running.
  bool start(const Options& options, std::string* why, bool* busy);
  void run();  // until SIGTERM or SIGINT

 private:
  struct Parts;
  static bool start_monitors(Parts& parts, std::string* why);
  static bool start_web(Parts& parts, std::string* why);
  static MonitorStatus monitor_status(const Parts& parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mrc::mrcd
