// Before a queue pair is destroyed, its pending answers have to arrive: confirmations and replies in flight would
// be lost with it, and the peer would wait for ever. Bounded in time, because the peer may have ended. [VRB-END-1]
// A region that is deregistered waits the same way for what is lent of it. [VRB-RSP-10]
#pragma once

#include <cstdint>
#include <functional>

namespace mrc::shim {

class Context;

inline constexpr uint64_t kMaxSettleNs = 500'000'000;

// Pumps until `settled` returns true or the time is over. The caller holds no lock of the shim.
// With a context of a parent it returns at once: what the parent had in flight does not end in its child.
void settle(Context* context, const std::function<bool()>& settled, uint64_t max_ns = kMaxSettleNs);

// The same for an object of many. After a wait that ran out, those of the next 10 s last 20 ms at most: an application
// whose peers have ended gives up its objects one after the other.
void settle_one_of_many(Context* context, const std::function<bool()>& settled, uint64_t max_ns = kMaxSettleNs);

}  // namespace mrc::shim
