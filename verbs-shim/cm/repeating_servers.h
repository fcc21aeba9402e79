// RepeatingServers: connections of servers that only repeat their REJ or SidrRep, by the time at which that ends, in
// total and by the host of their client. [CM-LIM-3]
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cm/host.h"
#include "invariant.h"

namespace mrc::shim::cm {

inline constexpr size_t kMaxRepeating = 1024;
inline constexpr size_t kMaxRepeatingPerHost = 256;

class RepeatingServers {
 public:
  // Adds the connection until then. Where memory runs out it is in none of the sets.
  void add(uint64_t until, uint64_t connection, const Host& host) {
    const auto added = all_.emplace(until, connection).first;
    try {
      of_host_[host].emplace(until, connection);
    } catch (...) {
      all_.erase(added);
      remove_of_host(until, connection, host);
      throw;
    }
    check();
  }
  void remove(uint64_t until, uint64_t connection, const Host& host) {
    all_.erase({until, connection});
    remove_of_host(until, connection, host);
    check();
  }
  // The connection that must end before one for the host is added: the one that was answered the longest time ago, of
  // the host if that is at its limit. Its client most likely has the answer; if not, it asks again and is a new one.
  std::optional<uint64_t> displaced_by(const Host& host) const {
    const auto own = of_host_.find(host);
    if (own != of_host_.end() && own->second.size() >= kMaxRepeatingPerHost) return own->second.begin()->second;
    if (all_.size() >= kMaxRepeating) return all_.begin()->second;
    return std::nullopt;
  }
  size_t size() const { return all_.size(); }
  void check() const {
    if constexpr (!kCheckInvariants) return;
    if (!pace_.due(of_host_.size())) return;
    size_t sum = 0;
    for (const auto& [host, own] : of_host_) {
      MRC_INVARIANT(!own.empty());
      sum += own.size();
    }
    MRC_INVARIANT(sum == all_.size());
  }

 private:
  using Deadlines = std::set<std::pair<uint64_t, uint64_t>>;  // time, number of the connection

  void remove_of_host(uint64_t until, uint64_t connection, const Host& host) {
    const auto own = of_host_.find(host);
    if (own == of_host_.end()) return;
    own->second.erase({until, connection});
    if (own->second.empty()) of_host_.erase(own);
  }

  Deadlines all_;
  std::map<Host, Deadlines> of_host_;  // the same, without empty sets
  mutable InvariantPace pace_;
};

}  // namespace mrc::shim::cm
