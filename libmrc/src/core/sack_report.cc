#include "core/sack_report.h"

namespace mrc::core {

SackReport::News SackReport::begin(const ReceivedPackets& received) const {
  News news;
  news.low = std::max(low_, received.expected());
  news.high = std::min(high_, received.end());
  skip_empty(&news, received);
  news.reported_low = news.low;
  return news;
}

// Ranges without an arrival are left out: a packet far ahead of the rest costs one SACK, not one per 64 PSNs.
void SackReport::skip_empty(News* news, const ReceivedPackets& received) {
  while (news->low < news->high && received.above(news->low) == 0) news->low += wire::kSackBitmapBits;
  while (news->low < news->high && !received.contains(news->low)) ++news->low;
}

// A SACK may be lost. Bits of its bitmap above the new arrivals are better used below: most packets are so reported by
// several SACKs at no cost. A range further back is reported again, by the next burst [MRC-SACK-10].
uint64_t SackReport::base_for(const News& news, const ReceivedPackets& received, Psn first) {
  const uint64_t lowest = aligned(received.expected(), first);
  uint64_t base = aligned(news.low, first);
  while (base > lowest && base + wire::kSackBitmapBits >= news.high + 8) base -= 8;
  return std::max(base, lowest);
}

bool SackReport::must_repeat(News& news, const ReceivedPackets& received) {
  again_low_ = std::max(again_low_, received.expected());
  if (news.covered_low <= again_low_) again_low_ = again_high_;
  news.repeat_due = again_low_ < again_high_;
  return news.repeat_due && news.low >= news.high && news.named == named_count_;
}

// Keeps the unreported arrivals. True: there are some.
bool SackReport::finish(const News& news) {
  if (again_low_ >= again_high_) {
    again_low_ = news.reported_low;
    again_high_ = std::min(news.low, news.high);
  }
  std::move(named_.begin() + news.named, named_.begin() + named_count_, named_.begin());
  named_count_ -= news.named;
  const bool new_left = news.low < news.high;
  low_ = new_left ? news.low : UINT64_MAX;
  if (!new_left) high_ = 0;
  return new_left || named_count_ > 0 || (news.repeat_due && !news.repeated);
}

}  // namespace mrc::core
