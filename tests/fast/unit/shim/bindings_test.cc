// Ports that ids of one process share or do not. [CM-PORT-1]
#include "rdma_cm/bindings.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mrc::shim::rdma_cm {
namespace {

constexpr uint16_t kTcp = 0x106, kUdp = 0x111;

cm::Address ipv4(uint8_t last) {
  cm::Address a = loopback(true);  // ::ffff:127.0.0.1
  std::fill(a.ip.begin() + 12, a.ip.end(), uint8_t{0});
  if (last == 0) return a;
  a.ip[12] = 10;
  a.ip[15] = last;
  return a;
}

cm::Address ipv6(uint8_t last) {
  cm::Address a;
  if (last == 0) return a;
  a.ip[0] = 0xFD;
  a.ip[15] = last;
  return a;
}

Binding binding(cm::Address address, uint16_t port = 7000) {
  address.port = port;
  return {kTcp, address, false, false};
}

bool both_conflict(const Binding& a, const Binding& b) {
  EXPECT_EQ(conflicts(a, b), conflicts(b, a));
  return conflicts(a, b);
}

TEST(Bindings, one_address_has_a_port_once) {
  EXPECT_TRUE(both_conflict(binding(ipv4(1)), binding(ipv4(1))));
  EXPECT_FALSE(both_conflict(binding(ipv4(1)), binding(ipv4(2))));
  EXPECT_FALSE(both_conflict(binding(ipv4(1), 7000), binding(ipv4(1), 7001)));
  EXPECT_FALSE(both_conflict(binding(ipv4(1)), binding(ipv6(1))));
}

TEST(Bindings, an_unspecified_address_is_every_address) {
  EXPECT_TRUE(both_conflict(binding(ipv4(0)), binding(ipv4(1))));
  EXPECT_TRUE(both_conflict(binding(ipv6(0)), binding(ipv6(1))));
  EXPECT_TRUE(both_conflict(binding(ipv4(0)), binding(ipv6(0))));
  EXPECT_TRUE(both_conflict(binding(ipv4(1)), binding(ipv6(0))));
}

TEST(Bindings, ids_of_one_family_leave_the_other_alone) {
  Binding any6 = binding(ipv6(0));
  any6.family_only = true;
  EXPECT_FALSE(both_conflict(any6, binding(ipv4(0))));
  EXPECT_FALSE(both_conflict(any6, binding(ipv4(1))));
  EXPECT_TRUE(both_conflict(any6, binding(ipv6(1))));
  EXPECT_TRUE(both_conflict(any6, binding(ipv6(0))));
}

TEST(Bindings, port_spaces_have_ports_of_their_own) {
  Binding datagrams = binding(ipv4(0));
  datagrams.port_space = kUdp;
  EXPECT_FALSE(both_conflict(datagrams, binding(ipv4(0))));
}

TEST(Bindings, a_port_is_reused_only_where_both_allow_it) {
  for (const cm::Address& address : {ipv4(0), ipv4(1)}) {
    Binding first = binding(address), second = binding(ipv4(1));
    first.reusable = true;
    EXPECT_TRUE(both_conflict(first, second));
    second.reusable = true;
    EXPECT_FALSE(both_conflict(first, second));
  }
}

}  // namespace
}  // namespace mrc::shim::rdma_cm
