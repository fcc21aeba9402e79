// Big-endian loads and stores: one load or store and a byte swap each. No alignment is assumed and no bounds are
// checked: every caller has compared lengths first [MRC-WIRE-1, spec/wire.md].
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace mrc::wire {

// Written as swaps and not as shifts of single bytes: where one of the bytes is a constant, compilers no longer see
// that the shifts together are a swap, and store byte by byte.
inline uint16_t big_endian(uint16_t v) {
  return std::endian::native == std::endian::big ? v : __builtin_bswap16(v);
}
inline uint32_t big_endian(uint32_t v) {
  return std::endian::native == std::endian::big ? v : __builtin_bswap32(v);
}
inline uint64_t big_endian(uint64_t v) {
  return std::endian::native == std::endian::big ? v : __builtin_bswap64(v);
}
template <typename T>
inline void put(uint8_t* p, T v) {
  v = big_endian(v);
  std::memcpy(p, &v, sizeof v);
}
template <typename T>
inline T get(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return big_endian(v);
}

inline void put16(uint8_t* p, uint16_t v) {
  put(p, v);
}
inline void put32(uint8_t* p, uint32_t v) {
  put(p, v);
}
inline void put64(uint8_t* p, uint64_t v) {
  put(p, v);
}
inline uint16_t get16(const uint8_t* p) {
  return get<uint16_t>(p);
}
inline uint32_t get24(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) << 16 | get<uint16_t>(p + 1);
}
inline uint32_t get32(const uint8_t* p) {
  return get<uint32_t>(p);
}
inline uint64_t get64(const uint8_t* p) {
  return get<uint64_t>(p);
}

}  // namespace mrc::wire
