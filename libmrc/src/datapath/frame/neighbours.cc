#include "datapath/frame/neighbours.h"

namespace mrc::datapath {

Neighbours::Answer Neighbours::find(const IpAddress& next, Instant now) {
  if (hops_.size() >= kMaxHops && hops_.count(next) == 0) hops_.clear();
  Hop& hop = hops_[next];
  Answer answer;
  answer.mac = hop.mac;
  if (hop.known && now - hop.learnt_at < kFreshFor) {
    answer.found = Found::kKnown;
    return answer;
  }
  const bool all_asked = hop.asked >= kMaxAsked;
  const bool due = hop.asked == 0 || now - hop.asked_at >= (all_asked ? kAbsentFor : kSolicitInterval);
  if (due && all_asked) {
    // A neighbour that has become silent is removed; one that never answered gets another round.
    hop.asked = 0;
    hop.known = false;
  }
  if (due) {
    ++hop.asked;
    hop.asked_at = now;
    answer.ask = true;
  }
  answer.found = hop.known ? Found::kKnown : all_asked && !due ? Found::kAbsent : Found::kAwaited;
  return answer;
}

bool Neighbours::learn(const IpAddress& next, const MacAddress& mac, Instant now) {
  const auto found = hops_.find(next);
  if (found == hops_.end()) return false;
  Hop& hop = found->second;
  const bool awaited = !hop.known;
  hop.mac = mac;
  hop.known = true;
  hop.asked = 0;
  hop.learnt_at = now;
  return awaited;
}

}  // namespace mrc::datapath
