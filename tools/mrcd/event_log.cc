#include "event_log.h"

#include <nlohmann/json.hpp>

namespace mrc::mrcd {

void EventLog::add(Event event) {
  event.time = wall_clock_();
  clients_.notify_followers({{"event", event}});
  history_.add(std::move(event));
}

void EventLog::add_of(const Peer& process, Event event) {
  if (!process.privileged) event.user = process.uid;
  add(std::move(event));
}

}  // namespace mrc::mrcd
