#include "base/bitmap.h"

#include <gtest/gtest.h>

namespace mrc {
namespace {

TEST(RingBitmap, size_is_a_power_of_two_from_sixty_four) {
  RingBitmap b;
  EXPECT_EQ(b.size(), 0u);
  for (auto [asked, got] :
       {std::pair{1u, 64u}, {64u, 64u}, {65u, 128u}, {128u, 128u}, {4096u, 4096u}, {4097u, 8192u}}) {
    b.resize(asked);
    EXPECT_EQ(b.size(), got) << asked;
  }
}

TEST(RingBitmap, bits_keep_their_places_around_the_ring) {
  RingBitmap b;
  b.resize(128);
  const uint64_t origin = (1ull << 32) - 3;
  for (uint64_t i = 0; i < 128; i += 5) b.set(origin + i);
  for (uint64_t i = 0; i < 128; ++i) EXPECT_EQ(b.test(origin + i), i % 5 == 0) << i;
  EXPECT_TRUE(b.test(origin + 128));  // the next lap shares the place: owners clear before they slide
  b.clear(origin);
  EXPECT_FALSE(b.test(origin));
  EXPECT_TRUE(b.test(origin + 5));
}

TEST(RingBitmap, window_reads_sixty_four_bits_from_anywhere) {
  RingBitmap b;
  b.resize(256);
  for (uint64_t start : {0ull, 1ull, 63ull, 64ull, 200ull, 255ull}) {
    b.reset();
    b.set(start);
    b.set(start + 17);
    b.set(start + 63);
    b.set(start + 64);
    EXPECT_EQ(b.window(start), 1ull | 1ull << 17 | 1ull << 63) << start;
  }
}

TEST(RingBitmap, the_first_set_bit_of_a_range_is_found_around_the_ring) {
  RingBitmap b;
  b.resize(256);
  for (uint64_t start : {0ull, 1ull, 63ull, 64ull, 200ull, 255ull, 1000ull}) {
    b.reset();
    EXPECT_EQ(b.find(start, start + 256), start + 256) << start;
    b.set(start + 70);
    b.set(start + 255);
    EXPECT_EQ(b.find(start, start + 256), start + 70) << start;
    EXPECT_EQ(b.find(start + 70, start + 71), start + 70) << start;
    EXPECT_EQ(b.find(start, start + 70), start + 70) << start;
    EXPECT_EQ(b.find(start + 71, start + 255), start + 255) << start;
    EXPECT_EQ(b.find(start + 71, start + 256), start + 255) << start;
    EXPECT_EQ(b.find(start, start), start) << start;
  }
}

}  // namespace
}  // namespace mrc
