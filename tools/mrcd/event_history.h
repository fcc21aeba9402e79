// EventHistory: the latest events of this host, oldest first. When it is full, the oldest event of the user with the
// most events goes, so that an unprivileged user displaces events of its own processes alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "event.h"

namespace mrc::mrcd {

class EventHistory {
 public:
  static constexpr size_t kMaxEvents = 512;

  void add(Event event) {
    events_.push_back(std::move(event));
    if (events_.size() > kMaxEvents) drop_one();
  }
  const std::deque<Event>& events() const { return events_; }

 private:
  // Events without an unprivileged user count as those of one more.
  void drop_one() {
    std::map<std::optional<uid_t>, size_t> count;
    for (const Event& event : events_) ++count[event.user];
    size_t max = 0;
    for (const auto& [user, events] : count) max = std::max(max, events);
    for (auto at = events_.begin(); at != events_.end(); ++at)
      if (count[at->user] == max) {
        events_.erase(at);
        return;
      }
  }

  std::deque<Event> events_;
};

}  // namespace mrc::mrcd
