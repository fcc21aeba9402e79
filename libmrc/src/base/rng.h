// xoshiro256++ seeded by splitmix64: the only source of randomness below the datapath, always seeded by the caller.
#pragma once

#include <array>
#include <cstdint>

namespace mrc {

class Rng {
 public:
  explicit Rng(uint64_t seed);
  uint64_t next();
  // Uniform in [0, n); n > 0.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>((static_cast<uint64_t>(next() >> 32) * n) >> 32); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  bool chance(double p) { return p > 0 && unit() < p; }

 private:
  std::array<uint64_t, 4> s_;
};

}  // namespace mrc
