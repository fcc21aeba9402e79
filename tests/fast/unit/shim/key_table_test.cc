// The regions of a process by key: those that are being made. [VRB-MBX-*] mailbox_test.cc has the rest.
#include "mailbox/key_table.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <optional>

namespace mrc::shim {
namespace {

constexpr uint32_t kRegionKey = 0x700;

struct CountedLanding final : LandingOwner {
  uint32_t make_landing() override { return 0x500 + ++made; }
  uint32_t made = 0;
};

int run_unguarded(void (*access)(void*), void* argument, const iovec*, int, void**) {
  access(argument);
  return 0;
}

int refuse_every_access(void (*)(void*), void*, const iovec*, int, void**) {
  return EFAULT;
}

// Another thread may use the key of a region that is gone while this one gets the same key for a new one.
TEST(KeyTable, landing__of_a_region_without_an_owner_is_refused_until_it_has_one) {
  uint8_t memory[64] = {};
  KeyTable::Region region;
  region.base = memory;
  region.iova = 0x10000;
  region.length = sizeof memory;
  region.access = IBV_ACCESS_LOCAL_WRITE;
  KeyTable keys(&run_unguarded);
  keys.add(kRegionKey, region);
  const ibv_sge sge = {0x10010, 16, kRegionKey};
  EXPECT_FALSE(keys.landing(sge, nullptr).has_value());
  CountedLanding owner;
  keys.own(kRegionKey, &owner);
  for (int uses = 0; uses < 2; ++uses) {
    const std::optional<Segment> to = keys.landing(sge, nullptr);
    ASSERT_TRUE(to.has_value());
    EXPECT_EQ(to->addr, reinterpret_cast<uint64_t>(memory) + 16);
    EXPECT_EQ(to->key, 0x501u);
    EXPECT_EQ(to->length, 16u);
  }
  EXPECT_EQ(owner.made, 1u);
}

// [VRB-RSP-14]
TEST(KeyTable, can_land__while_every_region_is_there) {
  uint8_t memory[2][8192] = {};
  CountedLanding owners[2];
  KeyTable keys(&run_unguarded);
  Segment to[2];
  for (uint32_t i = 0; i < 2; ++i) {
    KeyTable::Region region;
    region.base = memory[i];
    region.iova = reinterpret_cast<uint64_t>(memory[i]);
    region.length = sizeof memory[i];
    region.access = IBV_ACCESS_LOCAL_WRITE;
    region.owner = &owners[i];
    owners[i].made = i;
    keys.add(kRegionKey + i, region);
    to[i] = keys.landing({region.iova + 1, sizeof memory[i] - 1, kRegionKey + i}, nullptr).value();
  }
  EXPECT_TRUE(keys.can_land(to, 2));
  keys.remove(kRegionKey + 1);
  EXPECT_FALSE(keys.can_land(to, 2));
  EXPECT_TRUE(keys.can_land(to, 1));
}

// The byte before it is not the region's.
TEST(KeyTable, can_land__of_an_empty_destination_touches_no_memory) {
  uint8_t memory[64] = {};
  CountedLanding owner;
  KeyTable::Region region;
  region.base = memory;
  region.iova = 0x10000;
  region.length = sizeof memory;
  region.access = IBV_ACCESS_LOCAL_WRITE;
  region.owner = &owner;
  KeyTable keys(&refuse_every_access);
  keys.add(kRegionKey, region);
  const Segment empty = keys.landing({0x10000, 0, kRegionKey}, nullptr).value();
  EXPECT_TRUE(keys.can_land(&empty, 1));
  const Segment one = keys.landing({0x10000, 1, kRegionKey}, nullptr).value();
  EXPECT_FALSE(keys.can_land(&one, 1));
}

TEST(KeyTable, own__of_a_key_that_is_unknown_adds_no_region) {
  KeyTable keys(&run_unguarded);
  CountedLanding owner;
  keys.own(kRegionKey, &owner);
  EXPECT_FALSE(keys.landing({0x10000, 1, kRegionKey}, nullptr).has_value());
  EXPECT_FALSE(keys.allowed(kRegionKey, 0, 0, 0, nullptr));
}

}  // namespace
}  // namespace mrc::shim
