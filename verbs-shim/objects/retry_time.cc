#include "objects/retry_time.h"

#include <algorithm>

namespace mrc::shim {

namespace {

constexpr uint8_t kMaxTimeout = 24, kMaxLinear = 7, kMaxExponential = 24;  // of MRC

// Of the timeout after so many doublings. [MRC-LOSS-3]
uint64_t interval(uint8_t timeout, unsigned doublings) {
  return uint64_t{1024} << std::min<unsigned>(timeout + doublings, kMaxTimeout);
}

}  // namespace

uint64_t silence_of(const MrcRetries& retries) {
  uint64_t total = (retries.linear + uint64_t{1}) * interval(retries.timeout, 0);
  for (unsigned i = 1; i <= retries.exponential; ++i) total += interval(retries.timeout, i);
  return total;
}

MrcRetries retries_for(uint8_t timeout, uint8_t retry_cnt, uint8_t packet_timeout) {
  if (timeout == 0) return {packet_timeout, kMaxLinear, MrcRetries::kForever};
  const uint64_t asked = (uint64_t{4096} << std::min<unsigned>(timeout, 31)) * (std::min<unsigned>(retry_cnt, 7) + 1u);
  const uint64_t wanted = std::max(asked, kMinSilence);
  MrcRetries r{std::min(packet_timeout, kMaxTimeout), kMaxLinear, 0};
  for (; r.timeout < kMaxTimeout; ++r.timeout)
    for (r.exponential = 0; r.exponential <= kMaxExponential; ++r.exponential)
      if (silence_of(r) >= wanted) return r;
  for (r.exponential = 0; r.exponential < kMaxExponential && silence_of(r) < wanted;) ++r.exponential;
  return r;
}

}  // namespace mrc::shim
