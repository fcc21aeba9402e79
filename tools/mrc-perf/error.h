// The exceptions of mrc-perf: what failed, and what a person can do about it. main prints both and exits with 1, or
// with 2 where the command line is at fault.
#pragma once

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

}  // namespace mrc::perf
