// The hardware behind a device's interfaces, and the interface of a GID, over folders made for the test. [VRB-SYS-5]
#include "sysfs/links.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace mrc::shim {
namespace {

namespace fs = std::filesystem;

class LinksTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mrc-links-XXXXXX";
    root_ = mkdtemp(name);
    fs::create_directories(root_ / "devices/pci0/0000:03:00.0/virtio2");
    fs::create_directories(root_ / "net/eth7");
    fs::create_directories(root_ / "net/veth0");
    std::ofstream(root_ / "devices/pci0/0000:03:00.0/numa_node") << "1\n";
    fs::create_symlink(root_ / "devices/pci0/0000:03:00.0/virtio2", root_ / "net/eth7/device");
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string hardware(std::vector<std::string> interfaces) const {
    return hardware_of({std::move(interfaces), 0}, (root_ / "net").string());
  }
  fs::path root_;
};

TEST_F(LinksTest, hardware_is_the_folder_that_knows_the_numa_node) {
  EXPECT_EQ(hardware({"eth7"}), (root_ / "devices/pci0/0000:03:00.0").string());
}

TEST_F(LinksTest, hardware_is_that_of_the_first_plane_that_has_some) {
  EXPECT_EQ(hardware({"", "veth0", "eth7"}), (root_ / "devices/pci0/0000:03:00.0").string());
}

TEST_F(LinksTest, hardware_without_a_numa_node_is_the_device) {
  fs::remove(root_ / "devices/pci0/0000:03:00.0/numa_node");
  EXPECT_EQ(hardware({"eth7"}), (root_ / "devices/pci0/0000:03:00.0/virtio2").string());
}

TEST_F(LinksTest, no_hardware) {
  EXPECT_EQ(hardware({}), "");
  EXPECT_EQ(hardware({"veth0", "lo"}), "");
}

TEST(Links, a_gid_that_is_no_address_belongs_to_the_first_plane) {
  union ibv_gid gid {};
  gid.raw[0] = 0xFE;
  gid.raw[1] = 0x80;
  gid.raw[15] = 0x77;
  EXPECT_EQ(interface_of(gid, {{"eth7", "eth8"}, 0}), "eth7");
  EXPECT_EQ(interface_of(gid, {}), "");
}

TEST(Links, a_mapped_address_has_its_interface) {
  union ibv_gid gid {};
  const uint8_t loopback[] = {0xFF, 0xFF, 127, 0, 0, 1};
  std::memcpy(gid.raw + 10, loopback, sizeof loopback);
  EXPECT_EQ(interface_of(gid, {{"eth7"}, 0}), "lo");
}

TEST(Links, an_unknown_speed_is_that_of_the_attributes) {
  EXPECT_EQ(port_gbps({{}, 0}), 100);
  EXPECT_EQ(port_gbps({{}, 800}), 800);
}

}  // namespace
}  // namespace mrc::shim
