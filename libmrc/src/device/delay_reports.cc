#include "device/delay_reports.h"

#include <set>
#include <utility>

namespace mrc::device {

void DelayReports::on_connected() {
  for (auto& [number, reported] : reported_) reported.before = reported.last;
  for (Released& released : released_) released.reported.before = released.reported.last;
  check();
}

void DelayReports::on_released(ctl::PeerReport last) {
  Reported reported;
  if (auto known = reported_.extract(last.peer); !known.empty()) reported = std::move(known.mapped());
  if (released_.size() < kMaxReleased) released_.push_back({std::move(last), std::move(reported)});
  check();
}

void DelayReports::begin() {
  released_before_ = released_.size();
}

DelayReports::Peers DelayReports::next(Peers* peers) {
  std::set<core::PeerId> ended;
  for (size_t i = released_before_; i < released_.size(); ++i) ended.insert(released_[i].last.peer);
  std::erase_if(*peers, [&](const ctl::PeerReport& peer) { return ended.contains(peer.peer); });
  std::set<core::PeerId> there;
  for (ctl::PeerReport& peer : *peers) {
    there.insert(peer.peer);
    subtract(&peer, &reported_[peer.peer]);
  }
  std::erase_if(reported_, [&](const auto& known) { return !there.contains(known.first); });
  Peers last;
  for (Released& released : released_) {
    subtract(&released.last, &released.reported);
    last.push_back(std::move(released.last));
  }
  released_.clear();
  released_before_ = 0;
  check();
  return last;
}

// Counts only grow from one report to the next. The check of one peer takes a step per count.
void DelayReports::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(released_before_ <= released_.size() && released_.size() <= kMaxReleased);
  if (!pace_.due(ctl::DelayReport::kCounts * (reported_.size() + released_.size()), 256)) return;
  for (const auto& [number, reported] : reported_) MRC_INVARIANT(!ctl::has_fallen(reported.last, reported.before));
  for (const Released& released : released_)
    MRC_INVARIANT(!ctl::has_fallen(released.reported.last, released.reported.before));
}

// After a fall the number is that of another peer.
void DelayReports::subtract(ctl::PeerReport* peer, Reported* reported) {
  ctl::PeerDelays now = {std::move(peer->completion), std::move(peer->retransmission)};
  if (ctl::has_fallen(now, reported->last)) *reported = {};
  reported->last = now;
  ctl::PeerDelays more = ctl::growth(std::move(now), reported->before);
  peer->completion = std::move(more.completion);
  peer->retransmission = std::move(more.retransmission);
}

}  // namespace mrc::device
