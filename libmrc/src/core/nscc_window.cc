// NSCC, the rules that move the window [MRC-NSCC-19..25]: average delay, quick adapt, the four quadrants of mark and
// delay, batch application. Where the simulator differs from the text the line names the difference (D1..D15, section
// "kHtsim" of spec/nscc.md).
#include <algorithm>
#include <cmath>

#include "core/nscc.h"

namespace mrc::core {
namespace {

constexpr double kHtsimAverageGain = 0.0125;
constexpr int64_t kNearZeroNs = 1000;
constexpr int64_t kNearZeroShare = 9;  // 1 us of the reference network's target of 9 us

}  // namespace

bool Nscc::is_window_full() const {
  return s_.cwnd - s_.inflight < mtu_;
}

bool Nscc::is_due(int64_t elapsed, int64_t limit) const {
  return mode_ == NsccMode::kHtsim ? elapsed > limit : elapsed >= limit;  // D3
}

// [MRC-NSCC-CHOICE-2]
bool Nscc::is_near_zero(int64_t delay) const {
  const int64_t fixed = kNearZeroNs * ticks_per_ns();
  if (mode_ == NsccMode::kHtsim) return delay < fixed;  // D14
  return delay < std::max(fixed, target_ / kNearZeroShare);
}

void Nscc::cut(int64_t size) {
  s_.cwnd = std::max<int64_t>(mtu_, s_.cwnd - size);
}

void Nscc::clamp() {
  s_.cwnd = std::max<int64_t>(mtu_, std::min(s_.cwnd, s_.max_wnd));
}

// kSpec: weighted by time, so that the average covers about the last base_rtt whatever the ACK rate is.
// [MRC-NSCC-CHOICE-3]
void Nscc::feed_average(int64_t now, int64_t delay, bool ecn_marked) {
  if (mode_ == NsccMode::kHtsim) {  // D8
    feed_average_raw(!ecn_marked && delay > target_ ? s_.base_rtt / 4 : delay);
    return;
  }
  const int64_t elapsed = std::max<int64_t>(now - s_.last_avg_time, 0);
  const double weight = std::min(1.0, static_cast<double>(elapsed) / static_cast<double>(s_.base_rtt));
  s_.avg_delay += weight * (static_cast<double>(delay) - s_.avg_delay);
  s_.last_avg_time = now;
}

void Nscc::feed_average_raw(int64_t sample) {
  s_.avg_delay = std::trunc(kHtsimAverageGain * static_cast<double>(sample) + (1 - kHtsimAverageGain) * s_.avg_delay);
}

void Nscc::window_update(int64_t now, int64_t new_bytes, int64_t delay, bool ecn_marked, bool limited) {
  const bool htsim = mode_ == NsccMode::kHtsim;
  if (htsim) clamp();
  if (!quick_adapt(now, false, ecn_marked, delay)) {
    if (ecn_marked) {
      if (delay >= target_) {
        decrease(now);
      } else {
        mark(kNsccNoOp);
      }
    } else if (!limited) {
      if (delay >= target_) {
        mark(kNsccFair);
        add_increment(fi_ * static_cast<double>(new_bytes));
      } else {
        proportional_increase(new_bytes, delay);
      }
    }
    if (is_due(now - s_.last_adjust_time, adjust_period_) || s_.received_bytes > adjust_bytes_) fulfil(now);
  }
  if (htsim) clamp();
}

// True: the event is used up, nothing else may change the window.
bool Nscc::quick_adapt(int64_t now, bool loss, bool marked, int64_t delay) {
  if (disable_qa_) return false;
  bool handled = false;
  if (s_.bytes_ignored < s_.bytes_to_ignore && marked) {
    mark(kNsccIgnored);
    handled = true;
  } else if (is_due(now, s_.qa_endtime)) {
    const bool under_gate = s_.achieved_bytes < (s_.max_wnd >> qa_gate_);
    const bool open = s_.qa_endtime != 0;
    // A period in which the application never filled the window says nothing about the path [MRC-NSCC-CHOICE-1].
    const bool counts = sticky_ || s_.window_limited || is_window_full();
    if (open && counts && under_gate && (s_.trigger_qa || loss || delay > qa_threshold_)) {
      mark(kNsccQuickAdapt);
      s_.cwnd = std::max<int64_t>(s_.achieved_bytes, mtu_);
      s_.bytes_to_ignore = mode_ == NsccMode::kHtsim ? static_cast<uint32_t>(s_.inflight)  // D13
                                                     : std::max<int64_t>(s_.inflight, 0);
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

bool Nscc::fast_increase(int64_t new_bytes, int64_t delay) {
  if (!is_near_zero(delay)) {
    s_.fi_count = 0;
  } else {
    s_.fi_count += new_bytes;
    if (s_.fi_count > s_.cwnd || s_.increase_mode) {
      mark(kNsccFast);
      s_.cwnd += static_cast<int64_t>(fi_scale_ * static_cast<double>(new_bytes));
      s_.cwnd = std::min(s_.cwnd, s_.max_wnd);
      s_.increase_mode = true;
      return true;
    }
  }
  s_.increase_mode = false;
  return false;
}

void Nscc::proportional_increase(int64_t new_bytes, int64_t delay) {
  if (fast_increase(new_bytes, delay)) return;
  mark(kNsccProportional);
  add_increment(alpha_ * static_cast<double>(new_bytes) * static_cast<double>(target_ - delay));
}

void Nscc::add_increment(double bytes) {
  s_.inc_bytes += static_cast<int64_t>(bytes);
  if (mode_ == NsccMode::kHtsim) s_.inc_bytes &= 0xFFFFFFFF;  // D1
}

// The packet's own delay asks for it, the average sizes it, at most once per base_rtt.
void Nscc::decrease(int64_t now) {
  mark(kNsccDecreaseAsked);
  s_.increase_mode = false;
  s_.fi_count = 0;
  const double target = static_cast<double>(target_);
  if (s_.avg_delay <= target || now - s_.last_dec_time <= s_.base_rtt) return;
  mark(kNsccDecreaseCut);
  const double kept = std::max<double>(1 - gamma_ * (s_.avg_delay - target) / s_.avg_delay, max_md_jump_);
  const double cwnd = static_cast<double>(s_.cwnd) * kept;
  s_.cwnd = std::max<int64_t>(mtu_, mode_ == NsccMode::kHtsim ? static_cast<int64_t>(cwnd) : std::llround(cwnd));
  s_.last_dec_time = now;
}

void Nscc::fulfil(int64_t now) {
  mark(kNsccFulfil);
  s_.cwnd += s_.inc_bytes / s_.cwnd;
  // A batch due by bytes does not move the time, so eta comes once a period however many batches there are.
  if (is_due(now - s_.last_adjust_time, adjust_period_)) {
    mark(kNsccEta);
    s_.last_adjust_time = now;
    s_.cwnd += mode_ == NsccMode::kHtsim ? static_cast<int64_t>(eta_) : std::llround(eta_);
  }
  s_.cwnd = std::min(s_.cwnd, s_.max_wnd);
  s_.inc_bytes = 0;
  s_.received_bytes = 0;
}

}  // namespace mrc::core
