// SettleLimit: the time that the end of one object may wait for peers, where a program ends many: once a wait has run
// out, its peers probably have ended, and waits of the next 10 s last 20 ms. [VRB-END-1] [VRB-RSP-10]
//
// Nanoseconds. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace mrc::shim {

class SettleLimit {
 public:
  static constexpr uint64_t kOverdueForNs = 10'000'000'000, kOverdueSettleNs = 20'000'000;

  bool overdue(uint64_t now) const { return now < overdue_until_.load(); }
  uint64_t max_wait(uint64_t now, uint64_t ordinary) const { return overdue(now) ? kOverdueSettleNs : ordinary; }
  void ran_out(uint64_t now) { overdue_until_.store(now + kOverdueForNs); }  // a wait that was not shortened

 private:
  std::atomic<uint64_t> overdue_until_{0};
};

}  // namespace mrc::shim
