// Folding: a 128-bit piece of the message may be replaced by its carry-less product with x^D mod P, added D bits
// further on [Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ"]. Eight pieces are folded at
// once, two per 256-bit register, over D = 1024 bits; the eight are then folded into one, whose CRC with the rest is
// ISA-L's.
#include "wire/crc32.h"

#include <isa-l/crc.h>

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mrc::wire {

namespace {

#if defined(__x86_64__)

// x^n mod P, bit-reflected, one bit up: the form in which the reflected algorithm multiplies.
constexpr uint64_t power(uint32_t n) {
  uint32_t value = 0x80000000u;  // x^0, reflected
  for (uint32_t i = 0; i < n; ++i) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0);
  return static_cast<uint64_t>(value) << 1;
}
static_assert(power(4 * 128 + 32) == 0x154442BD4 && power(4 * 128 - 32) == 0x1C6E41596);  // published constants

constexpr size_t kBlock = 128;
constexpr size_t kWorthwhile = 512;  // shorter pieces are no faster

#define MRC_FOLD_TARGET __attribute__((target("avx2,pclmul,vpclmulqdq")))

MRC_FOLD_TARGET inline __m256i load(const uint8_t* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// Factors in both halves of the register.
MRC_FOLD_TARGET inline __m256i factors(uint64_t low, uint64_t high) {
  return _mm256_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low), static_cast<int64_t>(high),
                           static_cast<int64_t>(low));
}

MRC_FOLD_TARGET inline __m256i fold(__m256i state, __m256i next, __m256i k) {
  return _mm256_xor_si256(
      next, _mm256_xor_si256(_mm256_clmulepi64_epi128(state, k, 0x00), _mm256_clmulepi64_epi128(state, k, 0x11)));
}

MRC_FOLD_TARGET inline __m128i fold_halves(__m256i state, __m256i k) {
  __m128i low = _mm256_castsi256_si128(state);
  __m128i k128 = _mm256_castsi256_si128(k);
  return _mm_xor_si128(_mm256_extracti128_si256(state, 1),
                       _mm_xor_si128(_mm_clmulepi64_si128(low, k128, 0x00), _mm_clmulepi64_si128(low, k128, 0x11)));
}

// len >= kBlock.
MRC_FOLD_TARGET uint32_t folded(uint32_t crc, const uint8_t* p, size_t len) {
  __m256i a = load(p);
  __m256i b = load(p + 32);
  __m256i c = load(p + 64);
  __m256i d = load(p + 96);
  a = _mm256_xor_si256(a, _mm256_set_epi32(0, 0, 0, 0, 0, 0, 0, static_cast<int>(~crc)));
  constexpr uint64_t kFar[] = {power(1024 + 32), power(1024 - 32)};
  constexpr uint64_t kNext[] = {power(256 + 32), power(256 - 32)};
  constexpr uint64_t kHalf[] = {power(128 + 32), power(128 - 32)};
  const __m256i k = factors(kFar[0], kFar[1]);
  p += kBlock;
  len -= kBlock;
  for (; len >= kBlock; p += kBlock, len -= kBlock) {
    a = fold(a, load(p), k);
    b = fold(b, load(p + 32), k);
    c = fold(c, load(p + 64), k);
    d = fold(d, load(p + 96), k);
  }
  const __m256i next = factors(kNext[0], kNext[1]);
  d = fold(fold(fold(a, b, next), c, next), d, next);
  __m128i last = fold_halves(d, factors(kHalf[0], kHalf[1]));
  uint8_t state[16];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), last);
  // The state stands for all bytes so far, the initial value included: go on from zero, which ISA-L inverts.
  uint32_t value = crc32_gzip_refl(0xFFFFFFFFu, state, sizeof(state));
  return len == 0 ? value : crc32_gzip_refl(value, p, len);
}

bool can_fold() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("vpclmulqdq");
}

#endif

}  // namespace

bool crc32_folded(uint32_t crc, const void* data, size_t len, uint32_t* out) {
#if defined(__x86_64__)
  if (len >= kBlock && can_fold()) {
    *out = folded(crc, static_cast<const uint8_t*>(data), len);
    return true;
  }
#endif
  (void)crc, (void)data, (void)len, (void)out;
  return false;
}

uint32_t crc32(uint32_t crc, const void* data, size_t len) {
#if defined(__x86_64__)
  static const bool fold_here = can_fold() && !__builtin_cpu_supports("avx512vl");
  if (len >= kWorthwhile && fold_here) return folded(crc, static_cast<const uint8_t*>(data), len);
#endif
  return crc32_gzip_refl(crc, static_cast<const unsigned char*>(data), len);
}

}  // namespace mrc::wire
