// What is counted of clients that have not finished or have been answered. [CM-LIM-1] [CM-LIM-3]
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "cm/connection_numbers.h"
#include "cm/half_open_count.h"
#include "cm/repeating_servers.h"

namespace mrc::shim::cm {
namespace {

Host host(uint16_t n) {
  Address a;
  a.ip = {0x20, 1, 0xD, 0xB8, 0, 0, static_cast<uint8_t>(n >> 8), static_cast<uint8_t>(n)};
  return host_of(a);
}

TEST(CmHost, is_a_network_of_ipv6_and_an_address_of_ipv4) {
  Address a, b;
  a.ip = b.ip = {0x20, 1, 0xD, 0xB8, 0, 0, 0, 1, 1};
  b.ip[15] = 2;
  b.port = 9;
  EXPECT_EQ(host_of(a), host_of(b));
  b.ip[7] = 2;
  EXPECT_NE(host_of(a), host_of(b));
  a.ip = b.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1};
  EXPECT_EQ(host_of(a), host_of(b));
  b.ip[15] = 2;
  EXPECT_NE(host_of(a), host_of(b));
}

TEST(CmHalfOpenCount, has_a_limit_for_each_host_and_one_for_all) {
  HalfOpenCount count;
  for (size_t i = 0; i < kMaxHalfOpenPerHost; ++i) {
    EXPECT_FALSE(count.full(host(1)));
    count.add(host(1));
  }
  EXPECT_TRUE(count.full(host(1)));
  EXPECT_FALSE(count.full(host(2)));
  for (size_t i = count.total(); i < kMaxHalfOpen; ++i) {
    EXPECT_FALSE(count.full());
    count.add(host(static_cast<uint16_t>(2 + i % 100)));
  }
  EXPECT_TRUE(count.full());
  count.remove(host(1));
  EXPECT_FALSE(count.full() || count.full(host(1)));
  EXPECT_EQ(count.total(), kMaxHalfOpen - 1);
}

TEST(CmRepeatingServers, the_oldest_of_all_is_displaced_at_the_limit) {
  RepeatingServers servers;
  for (uint64_t i = 0; i < kMaxRepeating; ++i) {
    const Host of = host(static_cast<uint16_t>(i));
    EXPECT_FALSE(servers.displaced_by(of));
    servers.add(10'000 - i, i, of);  // the last one ends first
  }
  EXPECT_EQ(servers.displaced_by(host(5000)), std::optional<uint64_t>(kMaxRepeating - 1));
  servers.remove(10'000 - (kMaxRepeating - 1), kMaxRepeating - 1, host(kMaxRepeating - 1));
  EXPECT_FALSE(servers.displaced_by(host(5000)));
  EXPECT_EQ(servers.size(), kMaxRepeating - 1);
}

TEST(CmRepeatingServers, a_host_at_its_limit_displaces_its_own) {
  RepeatingServers servers;
  servers.add(1, 1, host(1));
  for (uint64_t i = 0; i < kMaxRepeatingPerHost; ++i) servers.add(100 + i, 100 + i, host(2));
  EXPECT_FALSE(servers.displaced_by(host(1)));
  EXPECT_EQ(servers.displaced_by(host(2)), std::optional<uint64_t>(100));
  servers.remove(100, 100, host(2));
  EXPECT_FALSE(servers.displaced_by(host(2)));
}

// [CM-MSG-3]
TEST(CmConnectionNumbers, are_different_and_depend_on_the_key) {
  ConnectionNumbers numbers({1, 2}), same({1, 2}), other({1, 3});
  std::set<uint64_t> drawn;
  const auto taken = [&drawn](uint64_t n) { return drawn.count(n) != 0; };
  const auto nothing = [](uint64_t) { return false; };
  for (int i = 0; i < 1000; ++i) drawn.insert(numbers.draw(taken));
  EXPECT_EQ(drawn.size(), 1000u);
  EXPECT_EQ(drawn.count(0), 0u);
  EXPECT_EQ(drawn.count(same.draw(nothing)), 1u);
  EXPECT_EQ(drawn.count(other.draw(nothing)), 0u);
}

TEST(CmConnectionNumbers, draw__omits_numbers_in_use) {
  ConnectionNumbers numbers({1, 2}), same({1, 2});
  const uint64_t first = numbers.draw([](uint64_t) { return false; });
  EXPECT_NE(same.draw([first](uint64_t n) { return n == first; }), first);
}

}  // namespace
}  // namespace mrc::shim::cm
