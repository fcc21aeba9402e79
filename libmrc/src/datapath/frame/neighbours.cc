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
  const bool all_sent = hop.solicitations >= kMaxSolicitations;
  const bool due = hop.solicitations == 0 || now - hop.solicited_at >= (all_sent ? kAbsentFor : kSolicitInterval);
  if (due && all_sent) {
    // A neighbour that has become silent is removed; one that never answered gets another round.
    hop.solicitations = 0;
    hop.known = false;
  }
  if (due) {
    ++hop.solicitations;
    hop.solicited_at = now;
    answer.solicit = true;
  }
  answer.found = hop.known ? Found::kKnown : all_sent && !due ? Found::kAbsent : Found::kAwaited;
  return answer;
}

bool Neighbours::learn(const IpAddress& next, const MacAddress& mac, Instant now) {
  const auto found = hops_.find(next);
  if (found == hops_.end()) return false;
  Hop& hop = found->second;
  const bool awaited = !hop.known;
  hop.mac = mac;
  hop.known = true;
  hop.solicitations = 0;
  hop.learnt_at = now;
  return awaited;
}

}  // namespace mrc::datapath
