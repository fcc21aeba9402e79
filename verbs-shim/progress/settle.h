// Before a queue pair goes, what it owes its peer has to arrive: confirmations and replies that are on their way would
// vanish with it, and the peer would wait for ever. Bounded: a peer that is gone owes nothing. [VRB-END-1]
#pragma once

#include <functional>

namespace mrc::shim {

class Context;

// Pumps until `settled` says so or the time is over.
void settle(Context* context, const std::function<bool()>& settled);

}  // namespace mrc::shim
