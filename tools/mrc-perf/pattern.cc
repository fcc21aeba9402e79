#include "pattern.h"

#include <algorithm>
#include <cstring>

namespace mrc::perf {

namespace {

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

Pattern::Pattern(uint64_t seed, uint64_t max_message) : seed_(seed), bytes_(kPeriod + max_message) {
  for (uint64_t i = 0; i < kPeriod; ++i) bytes_[i] = static_cast<uint8_t>(mix(seed * 1000003 + i) >> 56);
  for (uint64_t at = kPeriod; at < bytes_.size();) {
    const uint64_t n = std::min<uint64_t>(at, bytes_.size() - at) / kPeriod * kPeriod;
    const uint64_t length = n == 0 ? bytes_.size() - at : n;
    std::memcpy(&bytes_[at], &bytes_[0], length);
    at += length;
  }
}

uint64_t Pattern::offset(uint32_t sender, uint32_t qp, uint64_t message) const {
  return mix(mix(seed_ ^ (uint64_t{sender} << 40 | qp)) + message) % kPeriod;
}

int64_t Pattern::first_mismatch(const uint8_t* received, uint64_t length, uint64_t offset) const {
  const uint8_t* expected = &bytes_[offset];
  if (std::memcmp(received, expected, length) == 0) return -1;
  uint64_t at = 0;
  while (received[at] == expected[at]) ++at;
  return static_cast<int64_t>(at);
}

}  // namespace mrc::perf
