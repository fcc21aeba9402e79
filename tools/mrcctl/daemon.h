// The connection of a client to mrcd: one request, one answer; or a stream of events. spec/mrcd.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/line_reader.h"

namespace mrcctl {

class Daemon {
 public:
  // `socket` empty: that of the settings. Throws Error with the way to start one.
  explicit Daemon(const std::string& socket);
  ~Daemon();  // the changes are in mrcd's file before; else a message on standard error [MRC-MRCD-7]
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // The answer's data. Throws Error with the daemon's reason.
  nlohmann::json ask(nlohmann::json message);
  // 0 or the errno value that the daemon answered; *why: its sentence.
  int request(nlohmann::json message, nlohmann::json* data, std::string* why);
  // The next unsolicited message; false when the daemon has ended.
  bool next(nlohmann::json* message);

 private:
  bool read_line(std::string* line, int timeout_ms);
  void settle() noexcept;

  int fd_ = -1;
  bool changed_ = false;
  unsigned next_request_ = 1;
  mrc::LineReader in_;
};

// Devices that this program opens from now on do without the daemon: they try paths that are denied, too, and what they
// are requested concerns only this class.
void keep_devices_out();

}  // namespace mrcctl
