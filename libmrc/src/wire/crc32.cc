// Folding: a 128-bit piece of the message may be replaced by its carry-less product with x^D mod P, added D bits
// further on [Gopal et al., "Fast CRC computation for generic polynomials using PCLMULQDQ"]. Eight pieces are folded at
// once, two per 256-bit register, over D = 1024 bits; the eight are then folded into one, and that is reduced.
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

constexpr ptrdiff_t kPiece = 16;
constexpr ptrdiff_t kBlock = 128;
constexpr size_t kWorthwhile = 128;      // shorter ones are as fast with ISA-L
constexpr size_t kWorthwhileWide = 512;  // shorter ones with a copy and ISA-L's pass over it

// Single bytes, four at a time: for the rest that fills no piece.
struct Tables {
  uint32_t of[4][256] = {};
  constexpr Tables() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0);
      of[0][i] = value;
    }
    for (uint32_t i = 0; i < 256; ++i)
      for (int t = 1; t < 4; ++t) of[t][i] = (of[t - 1][i] >> 8) ^ of[0][of[t - 1][i] & 0xFF];
  }
};
constexpr Tables kTables;

inline uint32_t bytewise(uint32_t state, const uint8_t* p, size_t len) {
  for (; len >= 4; p += 4, len -= 4) {
    uint32_t word;
    std::memcpy(&word, p, 4);
    word ^= state;
    state = kTables.of[3][word & 0xFF] ^ kTables.of[2][(word >> 8) & 0xFF] ^ kTables.of[1][(word >> 16) & 0xFF] ^
            kTables.of[0][word >> 24];
  }
  for (; len > 0; ++p, --len) state = (state >> 8) ^ kTables.of[0][(state ^ *p) & 0xFF];
  return state;
}

#define MRC_FOLD_TARGET __attribute__((target("avx2,pclmul,vpclmulqdq")))

// Factors in both halves of the register.
MRC_FOLD_TARGET inline __m256i factors(uint64_t low, uint64_t high) {
  return _mm256_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low), static_cast<int64_t>(high),
                           static_cast<int64_t>(low));
}

MRC_FOLD_TARGET inline __m256i fold(__m256i state, __m256i next, __m256i k) {
  return _mm256_xor_si256(
      next, _mm256_xor_si256(_mm256_clmulepi64_epi128(state, k, 0x00), _mm256_clmulepi64_epi128(state, k, 0x11)));
}

// By one piece.
MRC_FOLD_TARGET inline __m128i fold(__m128i state, __m128i next) {
  const __m128i k = _mm_set_epi64x(static_cast<int64_t>(power(128 - 32)), static_cast<int64_t>(power(128 + 32)));
  return _mm_xor_si128(next, _mm_xor_si128(_mm_clmulepi64_si128(state, k, 0x00), _mm_clmulepi64_si128(state, k, 0x11)));
}

// The remainder of 128 bits: folded to 96 and 64 bits, then Barrett's reduction with floor(x^64 / P) and P.
MRC_FOLD_TARGET inline uint32_t reduce(__m128i state) {
  const __m128i k = _mm_set_epi64x(static_cast<int64_t>(power(64)), static_cast<int64_t>(power(128 - 32)));
  const __m128i barrett = _mm_set_epi64x(0x1F7011641, 0x1DB710641);
  const __m128i low32 = _mm_set_epi32(0, 0, 0, -1);
  state = _mm_xor_si128(_mm_srli_si128(state, 8), _mm_clmulepi64_si128(state, k, 0x00));
  state = _mm_xor_si128(_mm_srli_si128(state, 4), _mm_clmulepi64_si128(_mm_and_si128(state, low32), k, 0x10));
  __m128i t = _mm_clmulepi64_si128(_mm_and_si128(state, low32), barrett, 0x10);
  t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), barrett, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(state, t), 1));
}

// A load that also stores a copy: folding is limited by the multiplier, so the store is free.
template <bool kCopy>
MRC_FOLD_TARGET inline __m256i take(const uint8_t* from, uint8_t* to) {
  const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  if (kCopy) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
  return value;
}
template <bool kCopy>
MRC_FOLD_TARGET inline __m128i take_piece(const uint8_t* from, uint8_t* to) {
  const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  if (kCopy) _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
  return value;
}

// len >= kPiece. The rest that fills no piece goes first: no special case at the end. `to` is written with kCopy alone.
template <bool kCopy>
MRC_FOLD_TARGET uint32_t folded(uint32_t crc, const uint8_t* p, size_t len, uint8_t* to) {
  const size_t odd = len % kPiece;
  if (kCopy) std::memcpy(to, p, odd);
  const uint32_t start = bytewise(~crc, kCopy ? to : p, odd);  // each byte of the source is read once
  const uint8_t* const end = p + len;
  const uint8_t* const from = p;
  const auto at = [to, from](const uint8_t* q) { return kCopy ? to + (q - from) : nullptr; };
  p += odd;
  const __m128i initial = _mm_cvtsi32_si128(static_cast<int>(start));
  __m128i last;
  if (end - p >= kBlock) {
    __m256i a = _mm256_xor_si256(take<kCopy>(p, at(p)), _mm256_zextsi128_si256(initial));
    __m256i b = take<kCopy>(p + 32, at(p + 32));
    __m256i c = take<kCopy>(p + 64, at(p + 64));
    __m256i d = take<kCopy>(p + 96, at(p + 96));
    const __m256i k = factors(power(1024 + 32), power(1024 - 32));
    for (p += kBlock; end - p >= kBlock; p += kBlock) {
      a = fold(a, take<kCopy>(p, at(p)), k);
      b = fold(b, take<kCopy>(p + 32, at(p + 32)), k);
      c = fold(c, take<kCopy>(p + 64, at(p + 64)), k);
      d = fold(d, take<kCopy>(p + 96, at(p + 96)), k);
    }
    const __m256i next = factors(power(256 + 32), power(256 - 32));
    d = fold(fold(fold(a, b, next), c, next), d, next);
    last = fold(_mm256_castsi256_si128(d), _mm256_extracti128_si256(d, 1));
  } else {
    last = _mm_xor_si128(take_piece<kCopy>(p, at(p)), initial);
    p += kPiece;
  }
  for (; p < end; p += kPiece) last = fold(last, take_piece<kCopy>(p, at(p)));
  return ~reduce(last);
}

// The same with four pieces per register: over D = 2048 bits in the loop, and 512 from register to register.
#define MRC_WIDE_TARGET __attribute__((target("avx512f,avx512vl,avx2,pclmul,vpclmulqdq")))

constexpr ptrdiff_t kWideBlock = 256;

MRC_WIDE_TARGET inline __m512i wide_factors(uint64_t low, uint64_t high) {
  const auto h = static_cast<int64_t>(high), l = static_cast<int64_t>(low);
  return _mm512_set_epi64(h, l, h, l, h, l, h, l);
}

MRC_WIDE_TARGET inline __m512i fold(__m512i state, __m512i next, __m512i k) {
  constexpr int kXor = 0x96;  // of all three
  return _mm512_ternarylogic_epi64(next, _mm512_clmulepi64_epi128(state, k, 0x00),
                                   _mm512_clmulepi64_epi128(state, k, 0x11), kXor);
}

template <bool kCopy>
MRC_WIDE_TARGET inline __m512i take_wide(const uint8_t* from, uint8_t* to) {
  const __m512i value = _mm512_loadu_si512(from);
  if (kCopy) _mm512_storeu_si512(to, value);
  return value;
}

// len >= kPiece, as above; less than a block is left to it.
template <bool kCopy>
MRC_WIDE_TARGET uint32_t folded_wide(uint32_t crc, const uint8_t* p, size_t len, uint8_t* to) {
  const size_t odd = len % kPiece;
  if (len - odd < size_t{kWideBlock}) return folded<kCopy>(crc, p, len, to);
  if (kCopy) std::memcpy(to, p, odd);
  const uint32_t start = bytewise(~crc, kCopy ? to : p, odd);
  const uint8_t* const end = p + len;
  const uint8_t* const from = p;
  const auto at = [to, from](const uint8_t* q) { return kCopy ? to + (q - from) : nullptr; };
  p += odd;
  const __m128i initial = _mm_cvtsi32_si128(static_cast<int>(start));
  __m512i a = _mm512_xor_si512(take_wide<kCopy>(p, at(p)), _mm512_zextsi128_si512(initial));
  __m512i b = take_wide<kCopy>(p + 64, at(p + 64));
  __m512i c = take_wide<kCopy>(p + 128, at(p + 128));
  __m512i d = take_wide<kCopy>(p + 192, at(p + 192));
  const __m512i k = wide_factors(power(2048 + 32), power(2048 - 32));
  for (p += kWideBlock; end - p >= kWideBlock; p += kWideBlock) {
    a = fold(a, take_wide<kCopy>(p, at(p)), k);
    b = fold(b, take_wide<kCopy>(p + 64, at(p + 64)), k);
    c = fold(c, take_wide<kCopy>(p + 128, at(p + 128)), k);
    d = fold(d, take_wide<kCopy>(p + 192, at(p + 192)), k);
  }
  const __m512i next = wide_factors(power(512 + 32), power(512 - 32));
  d = fold(fold(fold(a, b, next), c, next), d, next);
  __m128i four[4];  // through memory: g++ 12 warns of the instruction that would extract them
  _mm512_storeu_si512(four, d);
  __m128i last = fold(fold(fold(four[0], four[1]), four[2]), four[3]);
  for (; p < end; p += kPiece) last = fold(last, take_piece<kCopy>(p, at(p)));
  return ~reduce(last);
}

bool can_fold() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("vpclmulqdq");
}
bool can_fold_wide() {
  return can_fold() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}

#endif

}  // namespace

std::optional<uint32_t> crc32_folded(uint32_t crc, const void* data, size_t len, void* copy) {
#if defined(__x86_64__)
  if (len >= size_t{kPiece} && can_fold()) {
    const auto* p = static_cast<const uint8_t*>(data);
    return copy != nullptr ? folded<true>(crc, p, len, static_cast<uint8_t*>(copy))
                           : folded<false>(crc, p, len, nullptr);
  }
#endif
  (void)crc, (void)data, (void)len, (void)copy;
  return std::nullopt;
}

std::optional<uint32_t> crc32_folded_wide(uint32_t crc, const void* data, size_t len, void* copy) {
#if defined(__x86_64__)
  if (len >= size_t{kPiece} && can_fold_wide()) {
    const auto* p = static_cast<const uint8_t*>(data);
    return copy != nullptr ? folded_wide<true>(crc, p, len, static_cast<uint8_t*>(copy))
                           : folded_wide<false>(crc, p, len, nullptr);
  }
#endif
  (void)crc, (void)data, (void)len, (void)copy;
  return std::nullopt;
}

namespace {
bool prefers_folding(size_t len) {
#if defined(__x86_64__)
  static const bool here = can_fold() && !__builtin_cpu_supports("avx512vl");
  return len >= kWorthwhile && here;
#else
  (void)len;
  return false;
#endif
}

// ISA-L's pass is faster than the folding with registers of the same size, but needs a copy before it.
bool prefers_wide_copy(size_t len) {
#if defined(__x86_64__)
  static const bool here = can_fold_wide();
  return len >= kWorthwhileWide && here;
#else
  (void)len;
  return false;
#endif
}
}  // namespace

uint32_t crc32(uint32_t crc, const void* data, size_t len) {
  if (prefers_folding(len))
    if (const std::optional<uint32_t> sum = crc32_folded(crc, data, len)) return *sum;
  return crc32_gzip_refl(crc, static_cast<const unsigned char*>(data), len);
}

uint32_t crc32_copy(uint32_t crc, void* to, const void* data, size_t len) {
  if (prefers_wide_copy(len))
    if (const std::optional<uint32_t> sum = crc32_folded_wide(crc, data, len, to)) return *sum;
  if (prefers_folding(len))
    if (const std::optional<uint32_t> sum = crc32_folded(crc, data, len, to)) return *sum;
  std::memcpy(to, data, len);  // first: the CRC is the copy's
  return crc32_gzip_refl(crc, static_cast<const unsigned char*>(to), len);
}

}  // namespace mrc::wire
