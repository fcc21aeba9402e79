// The event simulator that the model runs on: ns-3's, without its headers. ns-3 3.37 compiles as C++17 with g++ 12 and
// not as C++20, so simulator.cc alone includes it and is built as C++17; the rest of the tree is C++20.
//
// One simulator per process, on one thread. Times are picoseconds since the start of the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim/config/units.h"

namespace mrc::sim {

// Call it before each run: selects the resolution (once per process) and the event queue, and sets the time to 0.
void prepare_simulator();
void run_simulator();   // until no event is left, or until it is stopped
void stop_simulator();  // after the current event
void stop_simulator_in(Ps delay);
void destroy_simulator();     // drops the events that are left
uint64_t simulator_events();  // carried out since the start of the run

// Calls `f` once, `delay` from now. Allocates; an event that recurs is a RecurringEvent.
void schedule_in(Ps delay, std::function<void()> f);

namespace detail {
extern Ps simulator_now;
}

// The time of the current event. The model reads it some ten times per packet, so this is a load, and not
// a call of ns3::Simulator::Now().
inline Ps now_ps() {
  return detail::simulator_now;
}

// An event that is scheduled again and again without an allocation each. ns-3's own Schedule(member function) creates
// an EventImpl per event; a link that carries a million packets would create two million. This one is a part of
// its owner, beside what it will read, and may be pending any number of times. It must not be destroyed before the run
// ends: a pending event would call a destroyed owner.
class RecurringEvent {
 public:
  using Call = void (*)(void* target);
  // `expect`, where there is one, is called shortly before `call`.
  RecurringEvent(void* target, Call call, Call expect = nullptr);
  RecurringEvent(const RecurringEvent&) = delete;
  RecurringEvent& operator=(const RecurringEvent&) = delete;
  ~RecurringEvent();

  void schedule_in(Ps delay);
  void schedule_at(Ps when) { schedule_in(when - now_ps()); }

 private:
  class Impl;
  friend class QuickScheduler;
  Impl* impl();

  alignas(8) std::byte impl_[48];  // an Impl; one reference is ours, one belongs to each pending event
};

}  // namespace mrc::sim
