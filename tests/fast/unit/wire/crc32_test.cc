// The CRC-32 of the ICRC: published check values, and the folding against a CRC taken bit by bit.
#include "wire/crc32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "harness/changing_memory.h"

namespace mrc::wire {
namespace {

uint32_t bitwise(uint32_t crc, const uint8_t* p, size_t len) {
  crc = ~crc;
  for (size_t i = 0; i < len; ++i) {
    crc ^= p[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

std::vector<uint8_t> noise(size_t len) {
  Rng rng(7);
  std::vector<uint8_t> bytes(len);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng.next());
  return bytes;
}

TEST(Crc32, check_value) {
  EXPECT_EQ(crc32(0, "123456789", 9), 0xCBF43926u);
}

TEST(Crc32, every_length_and_alignment) {
  auto bytes = noise(1400);
  for (size_t len = 0; len <= 1300; ++len)
    ASSERT_EQ(crc32(0, bytes.data() + len % 65, len), bitwise(0, bytes.data() + len % 65, len)) << len;
}

constexpr decltype(&crc32_folded) kFoldings[] = {crc32_folded, crc32_folded_wide};  // 256 and 512 bits

TEST(Crc32, foldings_agree_where_the_processor_has_them) {
  auto bytes = noise(9000);
  for (const auto folding : kFoldings) {
    EXPECT_FALSE(folding(0, bytes.data(), 15, nullptr).has_value()) << "shorter than a piece";
    for (size_t len = 16; len <= 9000; len += len < 1200 ? 1 : 61) {
      for (uint32_t start : {0u, 0x12345678u, 0xFFFFFFFFu}) {
        const auto sum = folding(start, bytes.data(), len, nullptr);
        if (!sum) break;  // no such instructions: nothing to compare
        ASSERT_EQ(*sum, bitwise(start, bytes.data(), len)) << len;
      }
    }
  }
}

TEST(Crc32, a_copy_is_the_bytes_and_no_more) {
  const auto bytes = noise(5000);
  for (size_t len = 0; len <= 4200; len += len < 600 ? 1 : 37) {
    std::vector<uint8_t> to(len + 96, 0xAB);
    const size_t from = len % 33, at = 32 + len % 31;
    ASSERT_EQ(crc32_copy(5, to.data() + at, bytes.data() + from, len), bitwise(5, bytes.data() + from, len)) << len;
    ASSERT_EQ(std::memcmp(to.data() + at, bytes.data() + from, len), 0) << len;
    const auto before = to.begin() + static_cast<std::ptrdiff_t>(at);
    const auto other = [](uint8_t byte) { return byte != 0xAB; };
    ASSERT_TRUE(std::none_of(to.begin(), before, other)) << len;
    ASSERT_TRUE(std::none_of(before + static_cast<std::ptrdiff_t>(len), to.end(), other)) << len;
    for (const auto folding : kFoldings) {
      std::fill(to.begin(), to.end(), 0xAB);
      const auto sum = folding(5, bytes.data() + from, len, to.data() + at);
      if (!sum) continue;
      ASSERT_EQ(*sum, bitwise(5, bytes.data() + from, len)) << len;
      ASSERT_EQ(std::memcmp(to.data() + at, bytes.data() + from, len), 0) << len;
      ASSERT_TRUE(std::none_of(to.begin(), before, other)) << len;
      ASSERT_TRUE(std::none_of(before + static_cast<std::ptrdiff_t>(len), to.end(), other)) << len;
    }
  }
}

// The source is the application's memory, which its threads may change at any moment. [MRC-ICRC-1]
TEST(Crc32, a_copy_has_its_own_crc_while_the_source_changes) {
  constexpr size_t kPage = harness::ChangingMemory::kPage;
  for (const auto folding : {kFoldings[0], kFoldings[1], decltype(&crc32_folded){}}) {
    for (const size_t before : {size_t{4}, size_t{100}, size_t{2048}, kPage}) {
      for (const size_t behind : {size_t{8}, size_t{1000}, size_t{3000}}) {
        harness::ChangingMemory source(2);
        const size_t len = (before + behind) / 16 * 16 + 12;  // a rest of twelve bytes, which is taken word by word
        std::vector<uint8_t> to(len);
        const uint8_t* const from = source.data() + kPage - before;
        const std::optional<uint32_t> sum =
            folding != nullptr ? folding(5, from, len, to.data()) : crc32_copy(5, to.data(), from, len);
        if (!sum) continue;  // no such instructions, or too short for them
        EXPECT_EQ(source.changes(), 1u);
        ASSERT_EQ(*sum, bitwise(5, to.data(), len))
            << before << " + " << behind << (folding != nullptr ? " folded" : "");
      }
    }
  }
}

TEST(Crc32, pieces_join) {
  auto bytes = noise(5000);
  uint32_t whole = crc32(0, bytes.data(), bytes.size());
  for (size_t cut : {1u, 511u, 512u, 513u, 4096u, 4999u})
    EXPECT_EQ(crc32(crc32(0, bytes.data(), cut), bytes.data() + cut, bytes.size() - cut), whole) << cut;
}

TEST(Crc32, a_changed_bit_shows) {
  auto bytes = noise(4096);
  uint32_t before = crc32(0, bytes.data(), bytes.size());
  for (size_t i = 0; i < bytes.size(); i += 97) {
    bytes[i] ^= 0x10;
    EXPECT_NE(crc32(0, bytes.data(), bytes.size()), before);
    bytes[i] ^= 0x10;
  }
}

}  // namespace
}  // namespace mrc::wire
