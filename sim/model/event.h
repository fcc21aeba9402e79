// Events of the model, and its clock beside the engine's. Packets are our own pooled objects rather than ns3::Packet,
// and events are recurring, so nothing is allocated per packet; measured, this makes the simulator some ten times
// faster than NetDevices with ns3::Packet, and nothing in the model needs what those bring.
#pragma once

#include <type_traits>

#include "base/time.h"
#include "sim/model/simulator.h"

namespace mrc::sim {

// The engine's clock begins a millisecond late, so that no timestamp in a header is 0, which means "none".
inline Instant to_instant(Ps t) {
  return Instant::from_ns(t / kPsPerNs + 1000000);
}
inline Ps from_instant(Instant t) {
  return t >= Instant::never() ? INT64_MAX : (t.ns() - 1000000) * kPsPerNs;
}

// Calls a method of its owner; before that, as the event comes near, `kExpect`, which may fetch what the method will
// read.
template <class T, void (T::*kMethod)(), auto kExpect = nullptr>
class Recurring final : public RecurringEvent {
 public:
  explicit Recurring(T* target)
      : RecurringEvent(
            target, [](void* owner) { (static_cast<T*>(owner)->*kMethod)(); }, expect()) {}

 private:
  static constexpr Call expect() {
    if constexpr (std::is_null_pointer_v<decltype(kExpect)>)
      return nullptr;
    else
      return [](void* owner) { (static_cast<const T*>(owner)->*kExpect)(); };
  }
};

}  // namespace mrc::sim
