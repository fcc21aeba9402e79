// NSCC, the rules that move the window [MRC-NSCC-19..25]: average delay, quick adapt, the four quadrants of mark and
// delay, batch application.
#pragma once

#include <algorithm>

#include "core/congestion/nscc.h"

namespace mrc::core {

template <class Rules>
void BasicNscc<Rules>::cut(int64_t size) {
  s_.cwnd = std::max<int64_t>(mtu_, s_.cwnd - size);
}

template <class Rules>
void BasicNscc<Rules>::feed_average(int64_t now, int64_t delay, bool ecn_marked) {
  s_.avg_delay = Rules::average(s_, now, delay, ecn_marked, target_);
  s_.last_avg_time = now;
}

template <class Rules>
void BasicNscc<Rules>::window_update(int64_t now, int64_t new_bytes, int64_t delay, bool ecn_marked, bool limited) {
  if (!quick_adapt(now, false, ecn_marked, delay)) {
    if (ecn_marked) {
      if (delay >= target_) {
        decrease(now);
      } else {
        mark(kStepNoOp);
      }
    } else if (!limited) {
      if (delay >= target_) {
        mark(kStepFair);
        add_increment(fi_ * static_cast<double>(new_bytes));
      } else {
        proportional_increase(new_bytes, delay);
      }
    }
    if (Rules::is_due(now - s_.last_adjust_time, adjust_period_) || s_.received_bytes > adjust_bytes_) fulfil(now);
  }
}

// True: the event is used up, nothing else may change the window.
template <class Rules>
bool BasicNscc<Rules>::quick_adapt(int64_t now, bool loss, bool marked, int64_t delay) {
  if (disable_qa_) return false;
  bool handled = false;
  if (s_.bytes_ignored < s_.bytes_to_ignore && marked) {
    mark(kStepIgnored);
    handled = true;
  } else if (Rules::is_due(now, s_.qa_endtime)) {
    const bool under_gate = s_.achieved_bytes < (s_.max_wnd >> qa_gate_);
    const bool open = s_.qa_endtime != 0;
    // A period in which the application never filled the window says nothing about the path [MRC-NSCC-CHOICE-1].
    const bool counts = sticky_ || s_.window_limited || is_window_full();
    if (open && counts && under_gate && (s_.trigger_qa || loss || delay > qa_threshold_)) {
      mark(kStepQuickAdapt);
      s_.cwnd = std::max<int64_t>(s_.achieved_bytes, mtu_);
      s_.bytes_to_ignore = Rules::bytes_to_ignore(s_.inflight);
      s_.bytes_ignored = 0;
      s_.trigger_qa = false;
      handled = true;
    } else if (!sticky_) {
      s_.trigger_qa = loss;  // an older trim is answered for; this one belongs to the period that opens now
    }
    s_.achieved_bytes = 0;
    s_.qa_endtime = now + s_.base_rtt + target_;
    s_.window_limited = is_window_full();
  }
  if (handled) {
    s_.inc_bytes = 0;
    s_.received_bytes = 0;
  }
  return handled;
}

template <class Rules>
bool BasicNscc<Rules>::fast_increase(int64_t new_bytes, int64_t delay) {
  if (!Rules::is_near_zero(delay, target_)) {
    s_.fi_count = 0;
  } else {
    s_.fi_count += new_bytes;
    if (s_.fi_count > s_.cwnd || s_.increase_mode) {
      mark(kStepFast);
      s_.cwnd += static_cast<int64_t>(fi_scale_ * static_cast<double>(new_bytes));
      s_.cwnd = std::min(s_.cwnd, s_.max_wnd);
      s_.increase_mode = true;
      return true;
    }
  }
  s_.increase_mode = false;
  return false;
}

template <class Rules>
void BasicNscc<Rules>::proportional_increase(int64_t new_bytes, int64_t delay) {
  if (fast_increase(new_bytes, delay)) return;
  mark(kStepProportional);
  add_increment(alpha_ * static_cast<double>(new_bytes) * static_cast<double>(target_ - delay));
}

template <class Rules>
void BasicNscc<Rules>::add_increment(double bytes) {
  s_.inc_bytes = Rules::increments(s_.inc_bytes + static_cast<int64_t>(bytes));
}

// The packet's own delay asks for it, the average sizes it, at most once per base_rtt.
template <class Rules>
void BasicNscc<Rules>::decrease(int64_t now) {
  mark(kStepDecreaseAsked);
  s_.increase_mode = false;
  s_.fi_count = 0;
  const double target = static_cast<double>(target_);
  if (s_.avg_delay <= target || now - s_.last_dec_time <= s_.base_rtt) return;
  mark(kStepDecreaseCut);
  const double kept = std::max<double>(1 - gamma_ * (s_.avg_delay - target) / s_.avg_delay, max_md_jump_);
  s_.cwnd = std::max<int64_t>(mtu_, Rules::whole(static_cast<double>(s_.cwnd) * kept));
  s_.last_dec_time = now;
}

template <class Rules>
void BasicNscc<Rules>::fulfil(int64_t now) {
  mark(kStepFulfil);
  s_.cwnd += s_.inc_bytes / s_.cwnd;
  // A batch due by bytes does not move the time, so eta comes once a period however many batches there are.
  if (Rules::is_due(now - s_.last_adjust_time, adjust_period_)) {
    mark(kStepEta);
    s_.last_adjust_time = now;
    s_.cwnd += Rules::whole(eta_);
  }
  s_.cwnd = std::min(s_.cwnd, s_.max_wnd);
  s_.inc_bytes = 0;
  s_.received_bytes = 0;
}

}  // namespace mrc::core
