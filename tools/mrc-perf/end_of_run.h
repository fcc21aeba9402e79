// EndOfRun: the message over TCP by which each side reports how much it has sent in a run, and the end of the peer's
// process meanwhile.
#pragma once

#include <chrono>
#include <cstdint>

#include "oob.h"

namespace mrc::perf {

class EndOfRun {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kInterval = std::chrono::microseconds(500);  // between polls of the TCP connection

  explicit EndOfRun(Oob& oob) : oob_(oob) {}

  void restart() { reported_ = peer_reported_ = peer_interrupted_ = false; }
  // This side has sent all its messages, `sent`.
  void report(uint64_t sent, bool interrupted);
  bool reported() const { return reported_; }

  bool due(Clock::time_point now) const { return now >= next_poll_; }
  // Throws an error message of the peer.
  void poll(Clock::time_point now);
  bool peer_reported() const { return peer_reported_; }
  bool peer_interrupted() const { return peer_interrupted_; }
  uint64_t peer_sent() const { return peer_reported_ ? peer_sent_ : 0; }
  Clock::time_point peer_reported_at() const { return peer_reported_at_; }
  // Its process has ended, or its host refuses the connection.
  bool peer_gone() const { return oob_.peer_gone(); }

 private:
  Oob& oob_;
  bool reported_ = false;
  bool peer_reported_ = false;
  bool peer_interrupted_ = false;
  uint64_t peer_sent_ = 0;  // messages
  Clock::time_point peer_reported_at_, next_poll_;
};

}  // namespace mrc::perf
