// Messages between the coordinator and a rank: JSON, one message a line, over a socket pair or, for a rank on another
// host, over the standard input and output of the command that starts it there.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "fd.h"

namespace mrc::net_bench {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// The error that ends a rank or the whole run, as a message for the user.
struct Fail : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The run could not start: wrong command line, no such plugin or ABI. Exit code 2.
struct CannotRun : Fail {
  using Fail::Fail;
};

class Channel {
 public:
  explicit Channel(Fd both) : in_(std::move(both)) {}
  Channel(Fd in, Fd out) : in_(std::move(in)), out_(std::move(out)) {}
  int fd() const { return in_.get(); }
  bool send(const Json& message);  // false: the other side has ended
  // Nothing: the other side has ended(), or the time is over, perhaps with a part of a message here. Lines that are no
  // JSON, such as a login's greeting, go to standard error.
  std::optional<Json> receive(Clock::time_point until);
  bool ended() const { return ended_; }
  // A whole message is here already, which poll() on fd() does not report.
  bool pending() const { return buffer_.find('\n') != std::string::npos; }

 private:
  bool fill(Clock::time_point until);

  Fd in_, out_;  // one in_ for both: no out_
  bool ended_ = false;
  std::string buffer_;
};

}  // namespace mrc::net_bench
