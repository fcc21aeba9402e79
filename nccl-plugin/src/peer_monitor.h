// PeerMonitor: decides whether a connection's peer is alive, from three signs of different strength:
//   its process ended or closed: the set-up socket reports it at once; requests then have the peer timeout to complete
//   completions: each proves that the peer's host and a path work
//   neither: after the keepalive interval a write must be sent, which exceeds its retries where host or paths failed
//
// Sockets and queue pairs are its caller's; time is an argument. Threads: one at a time. It does not allocate.
#pragma once

#include <chrono>
#include <cstdint>

#include "invariant.h"

namespace mrc::nccl {

class PeerMonitor {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kInterval = std::chrono::milliseconds(5);  // between assessments: each is a system call
  enum class Verdict : uint8_t { kAlive, kNeedsKeepalive, kEnded };

  // `keepalive` 0: no keepalives.
  PeerMonitor(std::chrono::milliseconds peer_timeout, std::chrono::seconds keepalive)
      : peer_timeout_(peer_timeout), keepalive_(keepalive) {}

  // The connection is established.
  void start(Clock::time_point now) { last_sign_ = now; }
  // Called for each completion, so it takes no time: the next assessment dates it.
  void note_completion() { completed_ = true; }
  // The peer's process has closed its socket, or has ended.
  void note_closed(Clock::time_point now) {
    closed_ = true;
    closed_at_ = now;
  }
  void note_keepalive_posted() {
    MRC_INVARIANT(!keepalive_in_flight_);
    keepalive_in_flight_ = true;
  }
  void note_keepalive_completed() {
    MRC_INVARIANT(keepalive_in_flight_);
    keepalive_in_flight_ = false;
  }

  bool closed() const { return closed_; }
  bool keepalive_in_flight() const { return keepalive_in_flight_; }
  bool due(Clock::time_point now) const { return now - assessed_at_ >= kInterval; }
  Verdict assess(Clock::time_point now) {
    assessed_at_ = now;
    if (completed_) last_sign_ = now;
    completed_ = false;
    if (closed_) return now - closed_at_ >= peer_timeout_ ? Verdict::kEnded : Verdict::kAlive;
    const bool silent = keepalive_.count() > 0 && now - last_sign_ >= keepalive_;
    return silent && !keepalive_in_flight_ ? Verdict::kNeedsKeepalive : Verdict::kAlive;
  }

 private:
  const std::chrono::milliseconds peer_timeout_;
  const std::chrono::seconds keepalive_;
  bool completed_ = false;            // since the last assessment
  bool keepalive_in_flight_ = false;  // its completion, or its failure, is still to come
  bool closed_ = false;
  Clock::time_point closed_at_, last_sign_, assessed_at_;
};

}  // namespace mrc::nccl
