// Events on ns3::Simulator without an allocation each. ns-3's own Schedule(member function) creates an EventImpl per
// event; a link that carries a million packets would create two million. A Recurring is one EventImpl that lives as
// long as the object that it wakes: its first reference is never given back, so the simulator's own references come and
// go without freeing it, and it may be pending any number of times. Packets are our own pooled objects rather than
// ns3::Packet for the same reason; measured, this makes the simulator some ten times faster than NetDevices with
// ns3::Packet, and nothing in the model needs what those bring.
//
// Time is ns-3's, at a resolution of one picosecond.
#pragma once

#include <ns3/event-impl.h>
#include <ns3/object-factory.h>
#include <ns3/simulator.h>

#include "base/time.h"
#include "sim/config/units.h"
#include "sim/model/scheduler.h"

namespace mrc::sim {

// To be called before each run; the resolution is taken once per process.
inline void prepare_simulator() {
  if (ns3::Time::GetResolution() != ns3::Time::PS) ns3::Time::SetResolution(ns3::Time::PS);
  ns3::ObjectFactory factory;
  factory.SetTypeId(QuickScheduler::GetTypeId());
  ns3::Simulator::SetScheduler(factory);
}

inline Ps now_ps() {
  return QuickScheduler::now();
}

// The engine's clock begins a millisecond late, so that no timestamp in a header is 0, which means "none".
inline Instant to_instant(Ps t) {
  return Instant::from_ns(t / kPsPerNs + 1000000);
}
inline Ps from_instant(Instant t) {
  return t >= Instant::never() ? INT64_MAX : (t.ns() - 1000000) * kPsPerNs;
}

template <class T, void (T::*kMethod)()>
class Recurring final : public ns3::EventImpl {
 public:
  explicit Recurring(T* target) : target_(target) {}
  void schedule_in(Ps delay) { ns3::Simulator::Schedule(ns3::Time(delay), ns3::Ptr<ns3::EventImpl>(this)); }
  void schedule_at(Ps when) { schedule_in(when - now_ps()); }

 protected:
  void Notify() override { (target_->*kMethod)(); }

 private:
  T* target_;
};

}  // namespace mrc::sim
