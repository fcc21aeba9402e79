// Messages between the coordinator and a rank: JSON over a SOCK_SEQPACKET pair, so that boundaries stay.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

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
  explicit Channel(int fd) : fd_(fd) {}
  Channel(const Channel&) = delete;
  ~Channel();
  int fd() const { return fd_; }
  bool send(const Json& message);  // false: the other side has ended
  // Nothing: the other side has ended, or the time is over.
  std::optional<Json> receive(Clock::time_point until);

 private:
  int fd_;
};

}  // namespace mrc::net_bench
