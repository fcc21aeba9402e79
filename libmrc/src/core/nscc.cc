// NSCC, the events [MRC-NSCC-10..18, 24]: accounting of bytes in flight, RTT samples, receiver penalty, and which of
// the window's rules (nscc_window.cc) an event runs. Gains are derived in nscc_params.cc.
//
// An ACK adds up increases, which a later batch applies divided by the window, so that a whole window of acknowledged
// bytes has the effect that the gains are named for; decreases and the fast increase act at once. A trimmed packet
// takes its own size from the window. What a period of about one loaded RTT delivered is the window of last resort
// (quick adapt).
#include "core/nscc.h"

#include <algorithm>

namespace mrc::core {
namespace {

constexpr uint32_t kRcvdMask = 0xFFFFFF;
constexpr uint32_t kRcvdHalf = 0x800000;
constexpr int64_t kRcvdUnit = 256;

}  // namespace

Nscc::Nscc(const NsccConfig& config, Instant now) {
  configure(config);
  s_.base_rtt = r_;
  s_.max_wnd = by_hand_max_wnd() ? config.max_cwnd : derived_max_wnd(r_);
  s_.cwnd = s_.max_wnd;
  // The simulator starts these at 0 (difference D11).
  const int64_t start = mode_ == NsccMode::kHtsim ? 0 : now.ns();
  s_.last_adjust_time = start;
  s_.last_dec_time = start;
  s_.last_avg_time = start;
}

void Nscc::on_send(uint32_t nominal) {
  s_.inflight += nominal;
  if (is_window_full()) s_.window_limited = true;
}

void Nscc::on_ack(Instant now, uint32_t rcvd_bytes_24, std::optional<Duration> rtt, bool ecn_marked,
                  uint8_t rcv_cwnd_pen, bool restore_cwnd, bool may_lower_base) {
  const uint32_t ahead = (rcvd_bytes_24 - s_.last_rcvd) & kRcvdMask;
  int64_t new_bytes = 0;
  if (ahead < kRcvdHalf) {  // else an older ACK that was overtaken
    new_bytes = ahead * kRcvdUnit;
    s_.last_rcvd = rcvd_bytes_24 & kRcvdMask;
  }
  s_.inflight -= new_bytes;
  branches_ = 0;
  if (disabled_) return;
  const bool limited = mode_ == NsccMode::kSpec && apply_penalty(new_bytes, rcv_cwnd_pen, restore_cwnd);
  ack_update(now.ns() * ticks_per_ns(), new_bytes, rtt ? std::max<int64_t>(to_ticks(*rtt), 1) : 0, ecn_marked,
             may_lower_base, limited, 0);
}

void Nscc::on_nack(Instant now, uint32_t nominal, std::optional<Duration> rtt, bool trimmed, bool may_lower_base) {
  branches_ = 0;
  if (mode_ == NsccMode::kHtsim) {  // takes every NACK for a trim (D12) and removes the packet afterwards (D4)
    if (!disabled_) nack_ticks(now.ns() * ticks_per_ns(), nominal, rtt ? to_ticks(*rtt) : 0, may_lower_base);
    s_.inflight -= nominal;
    return;
  }
  s_.inflight -= nominal;
  if (disabled_) return;
  if (!trimmed) {
    if (rtt && may_lower_base) sample_base_rtt(std::max<int64_t>(rtt->ns(), 1));
    return;
  }
  nack_ticks(now.ns(), nominal, rtt ? std::max<int64_t>(rtt->ns(), 1) : 0, may_lower_base);
}

// [MRC-NSCC-CHOICE-11]
void Nscc::on_loss(Instant, uint32_t nominal) {
  branches_ = 0;
  s_.inflight -= nominal;
  if (!disabled_) loss_ticks(nominal);
}

void Nscc::on_lost_packet_acked(uint32_t nominal) {
  s_.inflight += nominal;
}

// [MRC-NSCC-CHOICE-8]
bool Nscc::can_send(uint32_t nominal) const {
  return disabled_ || s_.inflight <= 0 || s_.inflight + nominal <= s_.cwnd;
}

bool Nscc::wants_ack(uint32_t nominal) const {
  if (disabled_) return false;
  return s_.cwnd - (s_.inflight + nominal) < mtu_ || s_.cwnd < ack_bytes_;
}

// ---------------------------------------------------------------- entry points in ticks

int64_t Nscc::ack_ticks(int64_t now, int64_t new_bytes, int64_t rtt, bool ecn_marked, bool may_lower_base,
                        int64_t delay_below_base) {
  branches_ = 0;
  return ack_update(now, new_bytes, rtt, ecn_marked, may_lower_base, false, delay_below_base);
}

int64_t Nscc::ack_update(int64_t now, int64_t new_bytes, int64_t rtt, bool ecn_marked, bool may_lower_base,
                         bool limited, int64_t delay_below_base) {
  s_.received_bytes += new_bytes;
  s_.achieved_bytes += new_bytes;
  s_.bytes_ignored += new_bytes;
  int64_t delay;
  if (rtt > 0) {
    if (may_lower_base) sample_base_rtt(rtt);
    if (rtt >= s_.base_rtt) {
      delay = rtt - s_.base_rtt;
      feed_average(now, delay, ecn_marked);
    } else {
      delay = delay_below_base;  // of a packet that is no measure of the queues [MRC-NSCC-18]
    }
  } else {
    mark(kNsccNoSample);
    if (mode_ == NsccMode::kSpec) return 0;
    delay = static_cast<int64_t>(s_.avg_delay);  // D2
  }
  window_update(now, new_bytes, delay, ecn_marked, limited);
  return delay;
}

void Nscc::nack_ticks(int64_t now, int64_t size, int64_t rtt, bool may_lower_base) {
  branches_ = 0;
  const bool htsim = mode_ == NsccMode::kHtsim;
  if (rtt > 0 && may_lower_base) sample_base_rtt(rtt);
  if (htsim) {
    feed_average_raw(r_);
  } else {
    feed_average(now, r_, true);  // R stands in for the full queue that nobody measured
  }
  s_.bytes_ignored += size;
  s_.trigger_qa = true;
  if (!quick_adapt(now, true, true, 0)) {
    mark(kNsccTrimCut);
    cut(size);
  }
  if (htsim) clamp();
}

void Nscc::loss_ticks(int64_t size) {
  branches_ = 0;
  mark(kNsccLossCut);
  cut(size);
  if (mode_ == NsccMode::kSpec) s_.bytes_ignored += size;  // D5
}

// [MRC-NSCC-CHOICE-7]
void Nscc::sample_base_rtt(int64_t rtt) {
  if (rtt >= s_.base_rtt) return;
  s_.base_rtt = rtt;
  if (!by_hand_max_wnd()) s_.max_wnd = derived_max_wnd(rtt);
}

// P > 0 holds the window at what is in flight and takes its share of the new bytes; then nothing may grow. The window
// of before comes back when the receiver says so; without its word the saved one is stale and forgotten
// [MRC-NSCC-CHOICE-4].
bool Nscc::apply_penalty(int64_t new_bytes, uint8_t penalty, bool restore) {
  const int64_t p = penalty & 0x7F;
  if (p > 0) {
    mark(kNsccPenalty);
    if (s_.saved_cwnd == 0) s_.saved_cwnd = s_.cwnd;
    s_.cwnd = std::min(s_.cwnd, s_.inflight);
    s_.cwnd = std::max<int64_t>(mtu_, s_.cwnd - ((p * new_bytes) >> 7));
    return true;
  }
  if (restore && s_.saved_cwnd > 0) {
    mark(kNsccRestore);
    s_.cwnd = s_.saved_cwnd;
  }
  s_.saved_cwnd = 0;
  return false;
}

}  // namespace mrc::core
