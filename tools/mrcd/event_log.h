// EventLog: gives events the time at which they happen, sends them to the followers and keeps the latest. Not
// thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "clients.h"
#include "event.h"
#include "event_history.h"
#include "peer.h"

namespace mrc::mrcd {

class EventLog {
 public:
  using WallClock = std::function<double()>;  // seconds since 1970

  // `clients` outlives this. `wall_clock`: the times of events, which are for people; nothing is decided by them.
  EventLog(Clients* clients, WallClock wall_clock) : clients_(*clients), wall_clock_(std::move(wall_clock)) {}

  // With the time of the call.
  void add(Event event);
  // Caused by a process: any user may cause such events.
  void add_of(const Peer& process, Event event);
  const std::deque<Event>& events() const { return history_.events(); }  // oldest first

 private:
  Clients& clients_;
  const WallClock wall_clock_;
  EventHistory history_;
};

}  // namespace mrc::mrcd
