#include "core/memory.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace mrc::core {
namespace {

TEST(MemoryRegion, covers_both_ends) {
  MemoryRegion r;
  r.iova = 0x1000;
  r.length = 0x100;
  EXPECT_TRUE(r.covers(0x1000, 0x100));
  EXPECT_FALSE(r.covers(0x1000, 0x101));
  EXPECT_TRUE(r.covers(0x10FF, 1));
  EXPECT_FALSE(r.covers(0x10FF, 2));
  EXPECT_FALSE(r.covers(0x0FFF, 1));
  EXPECT_TRUE(r.covers(0x1100, 0));
  EXPECT_FALSE(r.covers(0x1101, 0));
}

TEST(MemoryRegion, no_wrap_around) {
  MemoryRegion r;
  r.iova = UINT64_MAX - 0xFF;
  r.length = 0x100;
  EXPECT_TRUE(r.covers(UINT64_MAX, 1));
  EXPECT_FALSE(r.covers(UINT64_MAX, 2));
  EXPECT_FALSE(r.covers(UINT64_MAX - 1, UINT64_MAX));
  EXPECT_FALSE(r.covers(0, 1));
}

TEST(MemoryTable, keeps_what_was_registered) {
  MemoryTable t(7);
  uint8_t bytes[16];
  const Key key = t.add(bytes, 0x5000, sizeof bytes, 3, 9);
  ASSERT_NE(key, Key());
  const MemoryRegion* r = t.find(key);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->key, key);
  EXPECT_EQ(r->access, 3u);
  EXPECT_EQ(r->pd, 9u);
  EXPECT_EQ(r->at(0x5003), bytes + 3);
  EXPECT_EQ(t.size(), 1u);
}

TEST(MemoryTable, other_keys_are_unknown) {
  MemoryTable t(7);
  const Key key = t.add(nullptr, 0, 1, 3, 1);
  const uint32_t v = key.value();
  for (uint32_t wrong : {0u, 1u, 0xFFu, v + 1, v ^ 0x80u, v + 0x100, v - 0x100, UINT32_MAX})
    EXPECT_EQ(t.find(Key(wrong)), nullptr) << wrong;
}

// Tables of two shards: one chooses the keys, the other has the same ones, in whichever order the calls arrive.
TEST(MemoryTable, two_tables_have_equal_keys) {
  MemoryTable t(7), other(8);
  std::vector<Key> keys;
  const auto copy = [&](Key key) { return other.put(*t.find(key)); };
  for (int i = 0; i < 20; ++i) keys.push_back(t.add(nullptr, static_cast<uint64_t>(i), 1, 3, 1));
  for (int i = 19; i >= 0; --i) EXPECT_TRUE(copy(keys[static_cast<size_t>(i)]));
  other.check();
  for (const Key key : keys) {
    ASSERT_NE(other.find(key), nullptr);
    EXPECT_EQ(other.find(key)->iova, t.find(key)->iova);
  }
  EXPECT_FALSE(copy(keys[3])) << "the region is there";
  EXPECT_TRUE(t.remove(keys[3]));
  const Key again = t.add(nullptr, 77, 1, 3, 1);
  EXPECT_FALSE(copy(again)) << "its place has the region that was removed in the first table only";
  EXPECT_TRUE(other.remove(keys[3]));
  EXPECT_TRUE(copy(again));
  EXPECT_EQ(other.find(again)->iova, 77u);
  EXPECT_EQ(other.find(keys[3]), nullptr);
  EXPECT_EQ(other.size(), t.size());
  other.check();
}

// The same slot under a new tag, for as many reuses as there are tags.
TEST(MemoryTable, a_removed_key_stays_shut) {
  MemoryTable t(200);
  std::set<Key> used;
  for (int i = 0; i < 256; ++i) {
    const Key key = t.add(nullptr, 0, 1, 3, 1);
    EXPECT_TRUE(used.insert(key).second) << i;
    for (Key old : used) EXPECT_EQ(t.find(old) != nullptr, old == key);
    EXPECT_TRUE(t.remove(key));
    EXPECT_FALSE(t.remove(key));
    EXPECT_EQ(t.find(key), nullptr);
  }
  EXPECT_EQ(t.size(), 0u);
}

TEST(MemoryTable, many_regions_have_their_own_keys) {
  MemoryTable t(0);
  std::set<Key> keys;
  for (uint64_t i = 0; i < 1000; ++i) keys.insert(t.add(nullptr, i << 12, 4096, 3, 1));
  EXPECT_EQ(keys.size(), 1000u);
  EXPECT_EQ(keys.count(Key()), 0u);
  EXPECT_EQ(t.size(), 1000u);
}

// [MRC-SEC-8] [MRC-MBX-1]: by what bits of the keys of ten thousand tables differ.
TEST(MemoryTable, the_key_of_a_first_region_cannot_be_guessed) {
  std::set<Key> keys;
  for (uint64_t seed = 0; seed < 10000; ++seed) {
    MemoryTable t(seed);
    const Key key = t.add(nullptr, 0, 1, 3, 1);
    EXPECT_GE(key, Key(256));
    keys.insert(key);
  }
  EXPECT_GT(keys.size(), 9500u);
}

TEST(MemoryTable, salt_separates_processes) {
  MemoryTable a(1), b(2);
  EXPECT_NE(a.add(nullptr, 0, 1, 3, 1), b.add(nullptr, 0, 1, 3, 1));
}

}  // namespace
}  // namespace mrc::core
