// The exceptions of mrc-perf: what failed, and what a person can do about it. main prints both and exits with 1, or
// with 2 where the command line is at fault.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace mrc::perf {

class PerfError : public std::runtime_error {
 public:
  PerfError(const std::string& what, std::string advice) : std::runtime_error(what), advice_(std::move(advice)) {}
  const std::string& advice() const { return advice_; }

 private:
  std::string advice_;
};

// The request is invalid, from the command line or the peer.
class UsageError : public PerfError {
 public:
  using PerfError::PerfError;
};

// Of a call that returns 0, or else an errno value, or a negative number and errno.
inline void check(int rc, const char* call, const char* advice) {
  if (rc != 0) throw PerfError(std::string(call) + ": " + std::strerror(rc > 0 ? rc : errno), advice);
}

}  // namespace mrc::perf
