// SlowWatch: decides when a connection is slow and words what is known of the reason, for NCCL's log.
//
// A connection is slow while a request has been under way for kSlow or longer: NCCL's messages are pieces of at most
// some MiB, which take milliseconds. One line when that is found, within 2 s of the posting where the connection is
// polled; one every kAgain while it lasts; one when it is over. The reason comes from two samples of
// the queue pair some time apart:
//   silence     nothing was acknowledged between them
//   loss        at least kLossShare of the packets sent were repetitions
//   congestion  packets came with ECN marks, or the congestion window is full
//   rate        none of these: the path, or the peer, is slow
// A peer that has posted no receive makes no request slow: nothing is under way.
//
// Threads: one at a time. Time is an argument; it does not allocate while nothing is slow.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "qp_sample.h"

namespace mrc::nccl {

class SlowWatch {
 public:
  using Clock = std::chrono::steady_clock;
  using TakeSample = std::function<QpSample()>;
  static constexpr auto kBaseline = std::chrono::milliseconds(500);
  static constexpr auto kSlow = std::chrono::seconds(1);
  static constexpr auto kAgain = std::chrono::seconds(10);
  static constexpr double kLossShare = 0.02;

  // `oldest`: when the oldest request that is under way was posted; none: there is none. To be called every few hundred
  // milliseconds. A line for the log, or "". Samples are taken twice before the first line and once for each later one.
  std::string look(Clock::time_point now, std::optional<Clock::time_point> oldest, const std::string& peer,
                   const TakeSample& take);
  bool slow() const { return slow_; }
  void check() const;

 private:
  struct Taken {
    Clock::time_point at;
    QpSample sample;
  };
  std::string over(Clock::time_point now, const std::string& peer);

  bool slow_ = false;
  Clock::time_point since_, reported_;     // the slow request's posting; the last line
  std::optional<Taken> before_;            // the sample that the next one is compared with
  std::optional<Clock::time_point> idle_;  // the posting of a request of which the device has nothing under way
};

// The events between two samples: "silence: ...", "loss: ...", with the path that has most of it.
std::string reason_of(const QpSample& before, const QpSample& after, double seconds);

}  // namespace mrc::nccl
