// NSCC, the rules that change the window [MRC-NSCC-19..25]: average delay, quick adapt, the four quadrants of mark and
// delay, batch application.
#pragma once

#include <algorithm>

#include "core/congestion/nscc.h"

namespace mrc::core {

template <class Rules>
void BasicNscc<Rules>::cut(int64_t size) {
  s_.cwnd = std::max<int64_t>(g_.mtu, s_.cwnd - size);
}

template <class Rules>
void BasicNscc<Rules>::feed_average(int64_t now, int64_t delay, bool ecn_marked) {
  s_.avg_delay = Rules::average(s_, now, delay, ecn_marked, g_.target);
  s_.last_avg_time = now;
}

template <class Rules>
void BasicNscc<Rules>::window_update(int64_t now, int64_t new_bytes, int64_t delay, bool ecn_marked, bool limited) {
  if (!quick_adapt(now, false, ecn_marked, delay)) {
    if (ecn_marked) {
      if (delay >= g_.target) {
        decrease(now);
      } else {
        mark(kStepNoOp);
      }
    } else if (!limited) {
      if (delay >= g_.target) {
        mark(kStepFair);
        add_increment(g_.fi * static_cast<double>(new_bytes));
      } else {
        proportional_increase(new_bytes, delay);
      }
    }
    if (Rules::is_due(now - s_.last_adjust_time, g_.adjust_period) || s_.received_bytes > g_.adjust_bytes) fulfil(now);
  }
}

// True: the event is consumed, no other rule may change the window.
template <class Rules>
bool BasicNscc<Rules>::quick_adapt(int64_t now, bool loss, bool marked, int64_t delay) {
  if (g_.disable_qa) return false;
  bool handled = false;
  if (s_.bytes_ignored < s_.bytes_to_ignore && marked) {
    mark(kStepIgnored);
    handled = true;
  } else if (Rules::is_due(now, s_.qa_endtime)) {
    const bool under_gate = s_.achieved_bytes < (s_.max_wnd >> g_.qa_gate);
    const bool open = s_.qa_endtime != 0;
    // A period in which the application never filled the window proves nothing about the path [MRC-NSCC-CHOICE-1].
    const bool counts = g_.sticky || s_.window_limited || is_window_full();
    if (open && counts && under_gate && (s_.trigger_qa || loss || delay > g_.qa_threshold)) {
      mark(kStepQuickAdapt);
      s_.cwnd = std::max<int64_t>(s_.achieved_bytes, g_.mtu);
      s_.bytes_to_ignore = Rules::bytes_to_ignore(s_.inflight);
      s_.bytes_ignored = 0;
      s_.trigger_qa = false;
      handled = true;
    } else if (!g_.sticky) {
      s_.trigger_qa = loss;  // an older trim is settled; this one belongs to the period that begins now
    }
    s_.achieved_bytes = 0;
    s_.qa_endtime = now + s_.base_rtt + g_.target;
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
  if (!Rules::is_near_zero(delay, g_.target)) {
    s_.fi_count = 0;
  } else {
    s_.fi_count += new_bytes;
    if (s_.fi_count > s_.cwnd || s_.increase_mode) {
      mark(kStepFast);
      s_.cwnd += static_cast<int64_t>(g_.fi_scale * static_cast<double>(new_bytes));
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
  add_increment(g_.alpha * static_cast<double>(new_bytes) * static_cast<double>(g_.target - delay));
}

template <class Rules>
void BasicNscc<Rules>::add_increment(double bytes) {
  s_.inc_bytes = Rules::increments(s_.inc_bytes + static_cast<int64_t>(bytes));
}

// The packet's own delay triggers it, the average determines its size, at most once per base_rtt.
template <class Rules>
void BasicNscc<Rules>::decrease(int64_t now) {
  mark(kStepDecreaseAsked);
  s_.increase_mode = false;
  s_.fi_count = 0;
  const double target = static_cast<double>(g_.target);
  if (s_.avg_delay <= target || now - s_.last_dec_time <= s_.base_rtt) return;
  mark(kStepDecreaseCut);
  const double kept = std::max<double>(1 - g_.gamma * (s_.avg_delay - target) / s_.avg_delay, g_.max_md_jump);
  s_.cwnd = std::max<int64_t>(g_.mtu, Rules::whole(static_cast<double>(s_.cwnd) * kept));
  s_.last_dec_time = now;
}

template <class Rules>
void BasicNscc<Rules>::fulfil(int64_t now) {
  mark(kStepFulfil);
  s_.cwnd += s_.inc_bytes / s_.cwnd;
  // A batch due by bytes does not change the time, so eta is added once per period for any number of batches.
  if (Rules::is_due(now - s_.last_adjust_time, g_.adjust_period)) {
    mark(kStepEta);
    s_.last_adjust_time = now;
    s_.cwnd += Rules::whole(g_.eta);
  }
  s_.cwnd = std::min(s_.cwnd, s_.max_wnd);
  s_.inc_bytes = 0;
  s_.received_bytes = 0;
}

}  // namespace mrc::core
