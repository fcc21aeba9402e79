// Payload in registered memory: the bytes, and the order in which another thread sees them.
#include "core/placement.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace mrc::core {
namespace {

using Place = void (*)(uint8_t* to, const uint8_t* from, uint32_t n);
constexpr Place kPlaces[] = {place_bytes<false>, place_bytes<true>};

// Every length around the thresholds, every alignment: the bytes arrive and their neighbours stay.
void expect_exact(Place place) {
  std::vector<uint8_t> from(600);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i + 1);
  for (uint32_t n = 0; n <= 530; n = n < 80 || (n > 240 && n < 340) ? n + 1 : n + 13)
    for (size_t align = 0; align < 8; ++align) {
      std::vector<uint8_t> to(700, 0xEE);
      place(to.data() + 64 + align, from.data() + 3, n);
      for (size_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= 64 + align && i < 64 + align + n;
        ASSERT_EQ(to[i], inside ? from[3 + i - 64 - align] : 0xEE) << n << " at " << align << " byte " << i;
      }
    }
}

TEST(Placement, copies_exactly) {
  for (const Place place : kPlaces) expect_exact(place);
}

// The last byte as a program polls it. Where an aligned word ends there, the whole word is read: ThreadSanitizer knows
// an order only between accesses of the same width.
uint8_t last_byte(const uint8_t* end) {
  if (reinterpret_cast<uintptr_t>(end) % 8 != 0) return __atomic_load_n(end - 1, __ATOMIC_ACQUIRE);
  const uint64_t word = __atomic_load_n(reinterpret_cast<const uint64_t*>(end - 8), __ATOMIC_ACQUIRE);
  uint8_t bytes[8];
  std::memcpy(bytes, &word, 8);
  return bytes[7];
}

// A program polls the last byte of a write and then reads the rest: whenever it sees the last byte of a round, all of
// the round is there. [MRC-RSP-2]
void expect_last_byte_last(Place place) {
  constexpr uint8_t kRounds = 200;
  for (uint32_t n : {8u, 13u, 64u, 200u, 257u, 4096u}) {
    for (size_t align : {0u, 3u}) {
      std::vector<uint8_t> to(n + align, 0);
      uint8_t* const at = to.data() + align;
      uint8_t seen = 0;
      uint32_t late = 0;
      std::thread reader([&] {
        for (uint8_t round = 1; round <= kRounds; ++round) {
          while (last_byte(at + n) != round) std::this_thread::yield();
          for (uint32_t i = 0; i < n; ++i) late += at[i] != round;
          __atomic_store_n(&seen, round, __ATOMIC_RELEASE);
        }
      });
      for (uint8_t round = 1; round <= kRounds; ++round) {
        place(at, std::vector<uint8_t>(n, round).data(), n);
        while (__atomic_load_n(&seen, __ATOMIC_ACQUIRE) != round) std::this_thread::yield();
      }
      reader.join();
      EXPECT_EQ(late, 0u) << n << " at " << align;
    }
  }
}

TEST(Placement, nothing_becomes_visible_after_the_last_byte) {
  for (const Place place : kPlaces) expect_last_byte_last(place);
}

}  // namespace
}  // namespace mrc::core
