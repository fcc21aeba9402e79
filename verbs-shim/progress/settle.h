// Before a queue pair is destroyed, its pending answers have to arrive: confirmations and replies in flight would
// be lost with it, and the peer would wait for ever. Bounded in time, because the peer may have ended. [VRB-END-1]
#pragma once

#include <functional>

namespace mrc::shim {

class Context;

// Pumps until `settled` returns true or the time is over.
void settle(Context* context, const std::function<bool()>& settled);

}  // namespace mrc::shim
