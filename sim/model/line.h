// Line: the timing of one direction of a link: a packet occupies it for its serialisation, then propagates. Rate and
// delay may change while packets are under way, by faults. All in picoseconds and bytes; no clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/config/units.h"

namespace mrc::sim {

class Line {
 public:
  Line(double rate_bps, Ps delay) : nominal_rate_(rate_bps), delay_(delay) { set_rate(rate_bps); }

  // Begins to send a packet.
  void send(Ps now, uint32_t bytes) { free_at_ = now + serialisation(bytes); }
  // When the packet that was sent last arrives at the other end. A decreasing delay must not make packets overtake.
  Ps arrival() { return last_arrival_ = std::max(last_arrival_, free_at_ + delay_ + extra_delay_); }
  Ps free_at() const { return free_at_; }  // when the next packet can be sent

  void set_rate(double bps) {
    rate_ = bps;
    ps_per_byte_ = 8.0 * kPsPerSecond / bps;
  }
  void set_extra_delay(Ps extra) { extra_delay_ = extra; }
  double nominal_rate() const { return nominal_rate_; }
  double rate() const { return rate_; }
  Ps extra_delay() const { return extra_delay_; }
  bool faulty() const { return extra_delay_ != 0 || rate_ != nominal_rate_; }

 private:
  Ps serialisation(uint32_t bytes) const { return static_cast<Ps>(static_cast<double>(bytes) * ps_per_byte_ + 0.5); }

  double nominal_rate_, rate_ = 0;
  double ps_per_byte_ = 0;
  Ps delay_, extra_delay_ = 0;
  Ps free_at_ = 0, last_arrival_ = 0;
};

}  // namespace mrc::sim
