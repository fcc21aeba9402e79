// 24-bit packet sequence numbers in serial arithmetic, half range 2^23 [MRC-PSN-1, spec/wire.md].
#pragma once

#include <cstdint>

namespace mrc {

class Psn {
 public:
  static constexpr uint32_t kMask = 0xFFFFFF;
  constexpr Psn() = default;
  constexpr explicit Psn(uint32_t v) : v_(v & kMask) {}
  constexpr uint32_t value() const { return v_; }
  constexpr Psn next() const { return Psn(v_ + 1); }
  friend constexpr Psn operator+(Psn a, int32_t n) { return Psn(a.v_ + static_cast<uint32_t>(n)); }
  friend constexpr Psn operator-(Psn a, int32_t n) { return Psn(a.v_ - static_cast<uint32_t>(n)); }
  // Signed distance a - b in [-2^23, 2^23).
  friend constexpr int32_t operator-(Psn a, Psn b) { return static_cast<int32_t>(((a.v_ - b.v_) & kMask) << 8) >> 8; }
  friend constexpr bool operator==(Psn a, Psn b) { return a.v_ == b.v_; }
  friend constexpr bool operator!=(Psn a, Psn b) { return a.v_ != b.v_; }
  friend constexpr bool operator<(Psn a, Psn b) { return (a - b) < 0; }
  friend constexpr bool operator<=(Psn a, Psn b) { return (a - b) <= 0; }
  friend constexpr bool operator>(Psn a, Psn b) { return (a - b) > 0; }
  friend constexpr bool operator>=(Psn a, Psn b) { return (a - b) >= 0; }

 private:
  uint32_t v_ = 0;
};

}  // namespace mrc
