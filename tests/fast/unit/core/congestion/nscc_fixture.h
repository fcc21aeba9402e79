// The common part of the NSCC tests: access to the state, and the reference context of the hand-checkable vectors (400
// Gb/s, R = 8 us, MTU 4160, trimming; BDP 400,000, T 6 us) with a window of 300,000 and nothing due.
#pragma once

#include <gtest/gtest.h>

#include "core/congestion/nscc.h"

namespace mrc::core {

struct NsccTestPeer {
  template <class Rules>
  static NsccState& state(BasicNscc<Rules>& n) {
    return n.s_;
  }
  static double alpha_per_us(const Nscc& n) { return n.g_.alpha * 1e3; }
  template <class Rules>
  static double fi(const BasicNscc<Rules>& n) {
    return n.g_.fi;
  }
  static double fi_scale(const Nscc& n) { return n.g_.fi_scale; }
  static double eta(const Nscc& n) { return n.g_.eta; }
  template <class Rules>
  static int64_t qa_threshold(const BasicNscc<Rules>& n) {
    return n.g_.qa_threshold;
  }
  static uint32_t adjust_bytes(const Nscc& n) { return n.g_.adjust_bytes; }
  static int64_t adjust_period(const Nscc& n) { return n.g_.adjust_period; }
};

namespace nscc_test {

constexpr int64_t kNow = 1000000;  // ns
constexpr int64_t kR = 8000;
constexpr int64_t kT = 6000;
constexpr uint32_t kPacket = 4160;

inline Instant at(int64_t ns) {
  return Instant::from_ns(ns);
}
inline Duration nanos(int64_t ns) {
  return Duration::nanoseconds(ns);
}

inline NsccConfig config(double gbps = 400, int64_t r_ns = kR) {
  NsccConfig c;
  c.line_rate_bps = gbps * 1e9;
  c.base_rtt = nanos(r_ns);
  c.mtu = kPacket;
  c.trimming = true;
  return c;
}

class NsccTest : public ::testing::Test {
 protected:
  explicit NsccTest(const NsccConfig& c = config()) : nscc(c, at(kNow)) {
    s().cwnd = 300000;
    s().window_limited = true;
  }
  NsccState& s() { return NsccTestPeer::state(nscc); }
  // An ACK of `bytes` whose packet was delayed by `delay`.
  void ack(int64_t delay, bool marked = false, int64_t bytes = kPacket, int64_t now = kNow) {
    nscc.ack_ticks(now, bytes, nscc.state().base_rtt + delay, marked, true);
  }
  bool did(WindowStep step) const { return (nscc.last_branches() & step) != 0; }

  Nscc nscc;
};

}  // namespace nscc_test
}  // namespace mrc::core
