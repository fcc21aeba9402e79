// HalfOpenCount: connections of servers that are not established yet, in total and by the host of their client.
// [CM-LIM-1]
#pragma once

#include <cstddef>
#include <map>

#include "cm/host.h"
#include "invariant.h"

namespace mrc::shim::cm {

inline constexpr size_t kMaxHalfOpen = 4096;         // of all listeners together
inline constexpr size_t kMaxHalfOpenPerHost = 1024;  // of one host

class HalfOpenCount {
 public:
  void add(const Host& host) {
    ++of_host_[host];
    ++total_;
    check();
  }
  void remove(const Host& host) {
    const auto counted = of_host_.find(host);
    MRC_INVARIANT(counted != of_host_.end());
    if (--counted->second == 0) of_host_.erase(counted);
    --total_;
    check();
  }
  size_t total() const { return total_; }
  bool full() const { return total_ >= kMaxHalfOpen; }
  bool full(const Host& host) const {
    const auto counted = of_host_.find(host);
    return counted != of_host_.end() && counted->second >= kMaxHalfOpenPerHost;
  }

  void check() const {
    if constexpr (!kCheckInvariants) return;
    if (!pace_.due(of_host_.size())) return;
    size_t sum = 0;
    for (const auto& [host, count] : of_host_) {
      MRC_INVARIANT(count > 0);
      sum += count;
    }
    MRC_INVARIANT(sum == total_);
  }

 private:
  std::map<Host, size_t> of_host_;  // without zeros
  size_t total_ = 0;
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim::cm
