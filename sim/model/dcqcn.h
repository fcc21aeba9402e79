// DCQCN, the rate control of RoCEv2, as published (SIGCOMM 2015): a sender cuts its rate by alpha/2 when a congestion
// notification arrives, alpha follows the frequency of notifications, and the rate recovers in stages: five fast steps
// half-way back to the rate before the cut, then additive, then hyper increase. Stages advance by time and by bytes.
// Receivers send at most one notification per flow and 50 us. Rates in bits per second, times in picoseconds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/config/units.h"

namespace mrc::sim {

struct DcqcnConfig {
  bool enabled = true;
  double g = 1.0 / 256;
  Ps alpha_period = 55 * kPsPerUs;
  Ps rate_period = 55 * kPsPerUs;
  int64_t byte_counter = 10000000;
  uint32_t fast_steps = 5;
  double additive = 0.0005;  // of the line rate, per step: 50 Mb/s at 100 Gb/s, scaled with it
  double hyper = 0.005;
  double minimum = 0.001;  // of the line rate
  Ps cnp_interval = 50 * kPsPerUs;
};

class Dcqcn {
 public:
  Dcqcn(const DcqcnConfig* config, double line_rate)
      : c_(config), line_(line_rate), rate_(line_rate), target_(line_rate) {}

  double rate() const { return c_->enabled ? rate_ : line_; }

  void on_notification(Ps now) {
    advance(now);
    target_ = rate_;
    rate_ = std::max(line_ * c_->minimum, rate_ * (1 - alpha_ / 2));
    alpha_ = (1 - c_->g) * alpha_ + c_->g;
    cut_ = true;
    alpha_at_ = now + c_->alpha_period;
    rate_at_ = now + c_->rate_period;
    bytes_ = 0;
    time_steps_ = byte_steps_ = 0;
  }

  void on_sent(Ps now, uint32_t bytes) {
    advance(now);
    if (!cut_) return;
    bytes_ += bytes;
    if (bytes_ < c_->byte_counter) return;
    bytes_ = 0;
    ++byte_steps_;
    increase();
  }

  // Everything that has become due since the last call; no timer of its own.
  void advance(Ps now) {
    if (!cut_) return;
    for (; alpha_at_ <= now; alpha_at_ += c_->alpha_period) alpha_ *= 1 - c_->g;
    for (; cut_ && rate_at_ <= now; rate_at_ += c_->rate_period) {
      ++time_steps_;
      increase();
    }
  }

 private:
  void increase() {
    if (std::max(time_steps_, byte_steps_) >= c_->fast_steps) {
      const bool both = std::min(time_steps_, byte_steps_) >= c_->fast_steps;
      target_ = std::min(line_, target_ + line_ * (both ? c_->hyper : c_->additive));
    }
    rate_ = (rate_ + target_) / 2;
    if (target_ >= line_ && rate_ > 0.999 * line_) {
      rate_ = line_;
      cut_ = false;
    }
  }

  const DcqcnConfig* c_;
  double line_, rate_, target_;
  double alpha_ = 1;
  bool cut_ = false;
  Ps alpha_at_ = 0, rate_at_ = 0;
  int64_t bytes_ = 0;
  uint32_t time_steps_ = 0, byte_steps_ = 0;
};

}  // namespace mrc::sim
