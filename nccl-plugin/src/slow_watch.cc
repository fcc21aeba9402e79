#include "slow_watch.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <set>

#include "invariant.h"

namespace mrc::nccl {

namespace {

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

__attribute__((format(printf, 1, 2))) std::string text_of(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

// Of the EVs that carried packets between the samples, or where none did, of all: the one of which `count` has grown
// most.
std::string worst_path(const QpSample& before, const QpSample& after, uint64_t EvSample::*count) {
  std::map<uint32_t, const EvSample*> old;
  for (const EvSample& ev : before.evs) old[ev.ev] = &ev;
  const EvSample* worst = nullptr;
  uint64_t max_growth = 0;
  for (const EvSample& ev : after.evs) {
    const auto found = old.find(ev.ev);
    const uint64_t grown = found == old.end() ? ev.*count : ev.*count - found->second->*count;
    if (grown > max_growth || worst == nullptr) worst = &ev, max_growth = grown;
  }
  if (worst == nullptr) return "";
  return text_of("; worst path: plane %d, EV %u (%s, %llu packets)", worst->plane, worst->ev, worst->state.c_str(),
                 static_cast<unsigned long long>(max_growth));
}

// Planes that have an EV in state GOOD, and those that have none.
std::string planes_of(const QpSample& sample) {
  std::set<int> all, good;
  for (const EvSample& ev : sample.evs) {
    all.insert(ev.plane);
    if (ev.state == "GOOD") good.insert(ev.plane);
  }
  std::string bad;
  for (int plane : all) {
    if (good.contains(plane)) continue;
    if (!bad.empty()) bad += ", ";
    bad += std::to_string(plane);
  }
  return bad.empty() ? "" : "; no good path on plane " + bad;
}

}  // namespace

std::string reason_of(const QpSample& before, const QpSample& after, double elapsed) {
  const uint64_t sent = after.tx - before.tx, again = after.retransmits - before.retransmits;
  const uint64_t acknowledged = after.acknowledged() - before.acknowledged();
  uint64_t marks = 0, marks_before = 0;
  for (const EvSample& ev : after.evs) marks += ev.marks;
  for (const EvSample& ev : before.evs) marks_before += ev.marks;
  if (acknowledged == 0)
    return text_of("silence: %llu packets without an answer, %llu sent in the last %.1f s, of them %llu again",
                   static_cast<unsigned long long>(after.outstanding), static_cast<unsigned long long>(sent), elapsed,
                   static_cast<unsigned long long>(again)) +
           worst_path(before, after, &EvSample::losses) + planes_of(after);
  if (static_cast<double>(again) >= SlowWatch::kLossShare * static_cast<double>(sent))
    return text_of("loss: of %llu packets in %.1f s %llu were sent again", static_cast<unsigned long long>(sent),
                   elapsed, static_cast<unsigned long long>(again)) +
           worst_path(before, after, &EvSample::losses) + planes_of(after);
  if (marks > marks_before || after.inflight >= after.cwnd)
    return text_of("congestion: %llu packets in %.1f s, %llu with ECN marks, window %lld bytes, under way %lld",
                   static_cast<unsigned long long>(acknowledged), elapsed,
                   static_cast<unsigned long long>(marks - marks_before), static_cast<long long>(after.cwnd),
                   static_cast<long long>(after.inflight)) +
           worst_path(before, after, &EvSample::marks) + planes_of(after);
  return text_of("rate: %llu packets in %.1f s without loss or congestion",
                 static_cast<unsigned long long>(acknowledged), elapsed) +
         worst_path(before, after, &EvSample::tx) + planes_of(after);
}

std::string SlowWatch::over(Clock::time_point now, const std::string& peer) {
  slow_ = false;
  before_.reset();
  return text_of("Connection with %s is no longer slow, after %.1f s", peer.c_str(), seconds(now - since_));
}

std::string SlowWatch::look(Clock::time_point now, std::optional<Clock::time_point> oldest, const std::string& peer,
                            const TakeSample& take) {
  const Checked checked(this);
  const auto age = oldest && oldest != idle_ ? now - *oldest : Clock::duration::zero();
  if (slow_ && age < kSlow) return over(now, peer);
  if (age < kBaseline) {
    before_.reset();
    return "";
  }
  // The process itself may have stood still: what is found in the first look is not reported yet.
  const bool due = before_ && now - before_->at >= kBaseline && age >= kSlow && (!slow_ || now - reported_ >= kAgain);
  if (before_ && !due) return "";
  QpSample sample = take();
  if (sample.outstanding == 0) {
    idle_ = oldest;
    return slow_ ? over(now, peer) : "";
  }
  std::string line;
  if (before_ && before_->sample.qpn == sample.qpn) {
    if (!slow_) since_ = *oldest;
    line = text_of("%s connection with %s: QP %u to QP %u, a request is under way for %.1f s; ",
                   slow_ ? "Still slow" : "Slow", peer.c_str(), sample.qpn, sample.dest_qpn, seconds(age)) +
           reason_of(before_->sample, sample, seconds(now - before_->at));
    slow_ = true;
    reported_ = now;
  }
  before_ = Taken{now, std::move(sample)};
  return line;
}

// What is slow was sampled, and reported after it was posted.
void SlowWatch::check() const {
  MRC_INVARIANT(!slow_ || (before_ && since_ <= reported_));
}

}  // namespace mrc::nccl
