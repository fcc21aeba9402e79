// RetryBudget: number and intervals of timeouts without progress before a QP fails [MRC-LOSS-3..5]:
// first the linear attempts at a fixed interval, then doubling ones. Sans-IO.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "core/types.h"
#include "invariant.h"

namespace mrc::core {

class RetryBudget {
 public:
  static constexpr uint8_t kRetryForever = 25;  // as QpAttr::retry_exp

  // The interval of the current attempt, at least `floor`.
  Duration interval(const QpAttr& attr, Duration floor) const {
    const uint32_t linear = attr.retry_linear;
    const uint32_t doublings = attempts_ > linear ? std::min<uint32_t>(attempts_ - linear, 24) : 0;
    const uint32_t exponent = std::min<uint32_t>(attr.timeout + doublings, 24);
    return std::max(Duration::nanoseconds(1024ll << exponent), floor);
  }
  // Charges one attempt. False: the budget is spent. [MRC-CHOICE-Q18]
  [[nodiscard]] bool charge(const QpAttr& attr) {
    ++attempts_;
    const uint32_t budget = static_cast<uint32_t>(attr.retry_linear) + attr.retry_exp;
    spent_ = attr.retry_exp < kRetryForever && attempts_ > budget;
    return !spent_;
  }
  uint32_t attempts() const { return attempts_; }  // since the budget was restored
  void restore() {
    attempts_ = 0;
    spent_ = false;
  }

  // Time at which the oldest packet became the oldest, or was last charged.
  void begin_wait(Instant now) { waiting_since_ = now; }
  bool waited(Instant now, Duration interval) const { return waiting_since_ + interval <= now; }

  // A QP does not outlive its budget.
  void check(bool ended) const { MRC_INVARIANT(!spent_ || ended); }

 private:
  uint32_t attempts_ = 0;
  bool spent_ = false;
  Instant waiting_since_;
};

}  // namespace mrc::core
