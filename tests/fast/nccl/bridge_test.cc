// Whose address a bridge has: the host's, or one that is alike on all hosts.
#include "bridge.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace mrc::net_bench {

namespace fs = std::filesystem;

class BridgeTest : public testing::Test {
 protected:
  BridgeTest() {
    std::string name = fs::temp_directory_path() / "bridge_test.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    net_ = name;
    add("br0/bridge");
  }
  ~BridgeTest() override { fs::remove_all(net_); }
  void add(const char* folder) const { fs::create_directories(net_ / folder); }
  bool internal() const { return is_internal_bridge("br0", net_); }

  fs::path net_;
};

TEST_F(BridgeTest, of_containers_alone_is_internal) {
  EXPECT_TRUE(internal()) << "without a port";
  for (const char* folder : {"br0/brif/veth1", "br0/brif/tap1", "veth1", "tap1"}) add(folder);
  EXPECT_TRUE(internal());
}

TEST_F(BridgeTest, over_a_card_is_not) {
  for (const char* folder : {"br0/brif/veth1", "br0/brif/eth0", "veth1", "eth0/device"}) add(folder);
  EXPECT_FALSE(internal());
}

TEST_F(BridgeTest, over_a_vlan_of_a_bond_of_cards_is_not) {
  for (const char* folder : {"br0/brif/bond0.7", "bond0.7/lower_bond0", "bond0/lower_eth0", "bond0/lower_eth1"})
    add(folder);
  EXPECT_TRUE(internal()) << "a bond of what is no card";
  add("eth1/device");
  EXPECT_FALSE(internal());
}

TEST_F(BridgeTest, the_search_ends) {
  for (const char* folder : {"br0/brif/a", "a/lower_b", "b/lower_a"}) add(folder);
  EXPECT_TRUE(internal());
}

TEST_F(BridgeTest, another_interface_is_none) {
  for (const char* folder : {"eth0/device", "dummy0"}) add(folder);
  for (const char* interface : {"eth0", "dummy0", "missing"}) EXPECT_FALSE(is_internal_bridge(interface, net_));
}

}  // namespace mrc::net_bench
