// Retransmission: what a connection knows of a peer that does not answer in the present state: attempts, refusals by
// the network, and whether the peer has asked for time. Decides when a message is sent again, and when no more.
// Nanoseconds. [CM-RTX-1] [CM-RTX-2] [CM-GONE-1]
#pragma once

#include <algorithm>
#include <cstdint>

namespace mrc::shim::cm {

inline constexpr uint64_t kMs = 1'000'000, kNever = UINT64_MAX;
inline constexpr uint64_t kFirstRetry = 200 * kMs, kMaxRetry = 2000 * kMs;
inline constexpr int kMaxAttempts = 15;
inline constexpr uint64_t kDecisionLimit = 120'000 * kMs;  // for an application of the peer that does not decide

class Retransmission {
 public:
  // A message that must be answered is sent: when to send it again. The time doubles up to the maximum; an eighth at
  // most is added, different for every connection and attempt, so that the clients of a listener that was away do not
  // return together.
  uint64_t next_attempt(uint64_t now, uint64_t connection) {
    ++attempts_;
    if (decision_due_ != kNever) return now + kMaxRetry;
    const uint64_t base = std::min(kFirstRetry << std::min(attempts_ - 1, 4), kMaxRetry);
    return now + base + base / 8 * ((connection >> (attempts_ % 32)) & 7) / 8;
  }
  bool exhausted(uint64_t now) const { return attempts_ >= kMaxAttempts || now >= decision_due_; }

  // The peer's application has not decided yet: the attempts begin anew. False: known already.
  bool on_mra(uint64_t now) {
    attempts_ = 0;
    if (decision_due_ != kNever) return false;
    decision_due_ = now + kDecisionLimit;
    return true;
  }
  // A datagram found no socket. Returns for how long that has been so.
  uint64_t on_refused(uint64_t now) {
    refused_since_ = std::min(refused_since_, now);
    return now - refused_since_;
  }
  bool refused() const { return refused_since_ != kNever; }
  void on_answer() { refused_since_ = kNever; }
  // Of a listener that is not there: the next attempt comes as soon as after the first.
  void restart_attempts() { attempts_ = 1; }

 private:
  int attempts_ = 0;
  uint64_t refused_since_ = kNever;
  uint64_t decision_due_ = kNever;  // kNever: the peer has not asked for time
};

}  // namespace mrc::shim::cm
