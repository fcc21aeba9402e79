// PendingAnswers: requests to a daemon that wait for their answers, by the numbers that pair the two. An answer is 0 or
// an errno value. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "invariant.h"

namespace mrc::device {

class PendingAnswers {
 public:
  // A new request; its number.
  uint64_t add() {
    answers_[next_] = kWaiting;
    return next_++;
  }
  bool is_waiting(uint64_t request) const {
    const auto found = answers_.find(request);
    return found != answers_.end() && found->second == kWaiting;
  }
  // False: there is no such request, or no longer.
  bool set(uint64_t request, int answer) {
    const auto found = answers_.find(request);
    if (found == answers_.end()) return false;
    found->second = answer;
    return true;
  }
  // Of all that wait.
  void fail(int error) {
    for (auto& [request, answer] : answers_)
      if (answer == kWaiting) answer = error;
  }
  // Ends the request; nullopt: it has no answer.
  std::optional<int> take(uint64_t request) {
    const auto found = answers_.find(request);
    if (found == answers_.end()) return std::nullopt;
    const int answer = found->second;
    answers_.erase(found);
    return answer == kWaiting ? std::nullopt : std::optional(answer);
  }
  void check() const { MRC_INVARIANT(answers_.empty() || answers_.rbegin()->first < next_); }

 private:
  static constexpr int kWaiting = -1;

  std::map<uint64_t, int> answers_;
  uint64_t next_ = 1;
};

}  // namespace mrc::device
