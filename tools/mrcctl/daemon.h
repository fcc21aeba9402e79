// The connection of a client to mrcd: one request, one answer; or a stream of events. spec/mrcd.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/line_reader.h"
#include "fd.h"
#include "result.h"

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
  // The same, with an error that the daemon answered: its errno value, and its sentence, which may be empty.
  mrc::Result<nlohmann::json> request(nlohmann::json message);
  // The next unsolicited message; none when the daemon has ended.
  std::optional<nlohmann::json> next();

 private:
  std::optional<std::string> read_line(int timeout_ms);
  void settle() noexcept;

  mrc::Fd fd_;
  bool changed_ = false;
  unsigned next_request_ = 1;
  mrc::LineReader in_;
};

// The sentence of an error that the daemon answered, or that of its errno value.
std::string sentence_of(const mrc::Error& error);

// Devices that this program opens from now on do without the daemon: they try paths that are denied, too, and what they
// are requested concerns only this class.
void keep_devices_out();

}  // namespace mrcctl
