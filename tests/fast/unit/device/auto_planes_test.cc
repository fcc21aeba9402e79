// Planes of the interfaces that a host has.
#include "device/auto_planes.h"

#include <gtest/gtest.h>

#include "append_item.h"
#include "harness/text.h"

namespace mrc::device {
namespace {

using datapath::HostAddress;
using testing_text::ip;

HostAddress on(const char* interface, const char* address, const char* network, bool up = true) {
  return {ip(address), interface, ip(network), up, up};
}

std::string names(const std::vector<HostAddress>& host, const std::string& interfaces) {
  std::string text;
  for (const PlaneConfig& plane : auto_planes(host, interfaces))
    append_item(&text, plane.interface + "=" + plane.addr.to_string(), " ");
  return text;
}

TEST(AutoPlanes, planes_of_two_hosts_are_in_the_order_of_their_networks) {
  EXPECT_EQ(names({on("eth0", "10.2.0.1", "10.2.0.0"), on("eth1", "10.1.0.1", "10.1.0.0")}, "auto"),
            "eth1=10.1.0.1 eth0=10.2.0.1");
  EXPECT_EQ(names({on("a", "10.1.0.200", "10.1.0.0"), on("b", "10.2.0.3", "10.2.0.0")}, "auto"),
            "a=10.1.0.200 b=10.2.0.3");
}

TEST(AutoPlanes, an_address_must_be_one_that_other_hosts_reach) {
  EXPECT_EQ(names({on("lo", "127.0.0.1", "127.0.0.0"), on("lo", "::1", "::1"), on("eth0", "fe80::1", "fe80::"),
                   on("eth1", "169.254.1.1", "169.254.0.0"), on("eth2", "10.0.0.1", "10.0.0.0", false),
                   on("docker0", "172.17.0.1", "172.17.0.0"), on("eth3", "2001:db8::3", "2001:db8::")},
                  "auto"),
            "eth3=2001:db8::3");
}

TEST(AutoPlanes, one_of_each_interface_ipv4_before_ipv6) {
  EXPECT_EQ(names({on("eth0", "2001:db8::3", "2001:db8::"), on("eth0", "10.0.0.1", "10.0.0.0"),
                   on("eth0", "10.0.0.2", "10.0.0.0")},
                  "auto"),
            "eth0=10.0.0.1");
}

TEST(AutoPlanes, a_list_chooses_as_nccl_does) {
  const std::vector<HostAddress> host = {on("docker0", "172.17.0.1", "172.17.0.0"), on("eth0", "10.0.0.1", "10.0.0.0"),
                                         on("eth01", "10.1.0.1", "10.1.0.0")};
  EXPECT_EQ(names(host, "eth0"), "eth0=10.0.0.1 eth01=10.1.0.1");
  EXPECT_EQ(names(host, "=eth0"), "eth0=10.0.0.1");
  EXPECT_EQ(names(host, "^eth0"), "docker0=172.17.0.1");
  EXPECT_EQ(names(host, "nosuch"), "");
}

}  // namespace
}  // namespace mrc::device
