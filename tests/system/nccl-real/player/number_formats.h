// The small floating-point formats of a GPU, in host arithmetic: widened to float exactly, narrowed by rounding to
// nearest even. f8e4m3 is the format without infinities: overflow saturates, as the CUDA conversions that NCCL uses do.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace mrc::nccl_rig::player {

// `Exponent` and `Mantissa` bits and a sign, in the low bits of `Storage`.
template <typename Storage, int Exponent, int Mantissa, bool Infinities>
struct SmallFloat {
  Storage bits;
  static constexpr int kBias = (1 << (Exponent - 1)) - 1;
  static constexpr unsigned kMantissaMask = (1u << Mantissa) - 1, kExponentMask = (1u << Exponent) - 1;
  static constexpr unsigned kSign = 1u << (Exponent + Mantissa);

  static SmallFloat from(float value) {
    const unsigned sign = std::signbit(value) ? kSign : 0;
    if (std::isnan(value)) return {static_cast<Storage>(sign | (kSign - 1))};
    const double magnitude = std::fabs(static_cast<double>(value));
    int exponent = magnitude == 0 ? 1 - kBias : std::ilogb(magnitude);
    if (exponent < 1 - kBias) exponent = 1 - kBias;  // subnormal
    // In units of the last place; nearbyint rounds to even.
    auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, Mantissa - exponent)));
    if (units >> (Mantissa + 1)) {
      units >>= 1;
      ++exponent;
    }
    const unsigned field = units >> Mantissa ? static_cast<unsigned>(exponent + kBias) : 0;
    unsigned bits = (field << Mantissa) | (static_cast<unsigned>(units) & kMantissaMask);
    constexpr unsigned kLargest = Infinities ? (kExponentMask << Mantissa) - 1 : kSign - 2;
    if (exponent > kBias + 1 || bits > kLargest || std::isinf(value))
      bits = Infinities && Mantissa > 3 ? kExponentMask << Mantissa : kLargest;
    return {static_cast<Storage>(sign | bits)};
  }

  float widen() const {
    const unsigned mantissa = bits & kMantissaMask, exponent = (bits >> Mantissa) & kExponentMask;
    const float sign = bits & kSign ? -1.0f : 1.0f;
    if (Infinities && exponent == kExponentMask) return sign * (mantissa ? NAN : INFINITY);
    if (!Infinities && (bits & (kSign - 1)) == kSign - 1) return NAN;
    if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), 1 - kBias - Mantissa);
    return sign *
           std::ldexp(static_cast<float>(mantissa | (1u << Mantissa)), static_cast<int>(exponent) - kBias - Mantissa);
  }
};

using Half = SmallFloat<uint16_t, 5, 10, true>;
using Bfloat16 = SmallFloat<uint16_t, 8, 7, true>;
using Float8e4m3 = SmallFloat<uint8_t, 4, 3, false>;
using Float8e5m2 = SmallFloat<uint8_t, 5, 2, true>;

}  // namespace mrc::nccl_rig::player
