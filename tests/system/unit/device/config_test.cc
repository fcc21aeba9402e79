// Configurations and the host: its interfaces, and the files that are read.
#include "device/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "device/interfaces.h"
#include "harness/config_reader.h"

namespace mrc::device {
namespace {

using testing_config::ConfigReader;
using testing_config::kTwoPlanes;

struct ConfigTest : ::testing::Test, ConfigReader {};

TEST_F(ConfigTest, interface__gives_the_address) {
  const std::optional<IpAddress> expected = address_of_interface("lo");
  ASSERT_TRUE(expected);
  ASSERT_EQ(parse("devices:\n  - planes: [{interface: lo}]\n"), "");
  EXPECT_EQ(config.devices[0].planes[0].addr, expected);
  EXPECT_FALSE(config.devices[0].planes[0].bind_interface);
  const std::string error = parse("devices:\n  - planes:\n      - {interface: nosuch0}\n");
  EXPECT_EQ(error.rfind("f.yaml:3: key 'interface': value is 'nosuch0', allowed: interfaces with an address: ", 0), 0u)
      << error;
  EXPECT_NE(error.find("lo"), std::string::npos);
}

TEST_F(ConfigTest, interface__without_an_address_is_waited_for_where_another_plane_has_one) {  // [MRC-PORT-6]
  ASSERT_EQ(parse("devices:\n  - planes: [{interface: nosuch0}, {address: \"::1\"}, {interface: nosuch1}]\n"), "");
  const DeviceConfig& device = config.devices[0];
  EXPECT_TRUE(device.planes[0].addr.is_zero());
  EXPECT_EQ(device.gids[0], device.planes[1].addr);
  for (const PlaneConfig& plane : device.planes) EXPECT_EQ(plane.port, 4791);  // unknown addresses are not one address
}

TEST_F(ConfigTest, line_rate__configured_or_unknown_on_virtual_interfaces) {
  ASSERT_EQ(parse("devices:\n  - planes: [{interface: lo}]\n"), "");
  EXPECT_EQ(config.devices[0].line_rate_gbps, 0);
  ASSERT_EQ(parse("line_rate_gbps: 12.5\ndevices:\n  - planes: [{interface: lo}]\n"), "");
  EXPECT_EQ(config.devices[0].line_rate_gbps, 12.5);
}

TEST_F(ConfigTest, card_speed__of_interfaces_with_a_device) {
  const std::string sysfs = ::testing::TempDir() + "/mrc-sysfs-" + std::to_string(::getpid());
  std::filesystem::create_directories(sysfs + "/card/device");
  std::filesystem::create_directories(sysfs + "/down/device");
  std::filesystem::create_directories(sysfs + "/veth");
  std::ofstream(sysfs + "/card/speed") << "25000\n";
  std::ofstream(sysfs + "/down/speed") << "-1\n";
  std::ofstream(sysfs + "/veth/speed") << "10000\n";
  EXPECT_EQ(card_speed_gbps("card", sysfs), 25);
  EXPECT_EQ(card_speed_gbps("down", sysfs), 0);
  EXPECT_EQ(card_speed_gbps("veth", sysfs), 0);
  EXPECT_EQ(card_speed_gbps("absent", sysfs), 0);
  EXPECT_EQ(card_speed_gbps("", sysfs), 0);
  // All planes together, also two of one card; unknown when one plane's speed is.
  const auto together = [&](const std::vector<std::string>& interfaces) {
    std::vector<PlaneConfig> planes(interfaces.size());
    for (size_t p = 0; p < planes.size(); ++p) planes[p].interface = interfaces[p];
    return cards_gbps(planes, sysfs);
  };
  EXPECT_EQ(together({"card"}), 25);
  EXPECT_EQ(together({"card", "card"}), 50);
  EXPECT_EQ(together({"card", "down"}), 0);
  EXPECT_EQ(together({"veth", "card"}), 0);
  std::filesystem::remove_all(sysfs);
}

TEST_F(ConfigTest, interface__link_local_binds) {
  ASSERT_EQ(parse("devices:\n  - planes: [{interface: lo, address: \"fe80::1\"}]\n"), "");
  EXPECT_TRUE(config.devices[0].planes[0].bind_interface);
}

TEST_F(ConfigTest, examples__are_accepted) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MRC_SOURCE_DIR "/tools/examples")) {
    if (entry.path().extension() != ".yaml") continue;  // programs have their examples there, too
    env["MRC_CONFIG"] = entry.path();
    EXPECT_EQ(load(), "");
    ++count;
  }
  EXPECT_GE(count, 3);
}

TEST_F(ConfigTest, examples__loopback_is_the_default_written_down) {
  env["MRC_CONFIG"] = MRC_SOURCE_DIR "/tools/examples/loopback.yaml";
  ASSERT_EQ(load(), "");
  const DeviceConfig builtin = loopback_config(Settings(), true);
  const DeviceConfig& written = config.devices.at(0);
  EXPECT_EQ(written.gids.size(), builtin.gids.size());  // the default's are of each host
  ASSERT_EQ(written.planes.size(), builtin.planes.size());
  for (size_t p = 0; p < written.planes.size(); ++p) {
    EXPECT_EQ(written.planes[p].addr, builtin.planes[p].addr);
    EXPECT_EQ(written.planes[p].port, builtin.planes[p].port);
    EXPECT_EQ(written.planes[p].port_base, builtin.planes[p].port_base);
  }
}

TEST_F(ConfigTest, load__names_the_file_that_cannot_be_read) {
  env["MRC_CONFIG"] = "/no/such/file.yaml";
  EXPECT_EQ(load(),
            "cannot read the configuration file /no/such/file.yaml: No such file or directory (MRC_CONFIG names it)");
}

TEST_F(ConfigTest, load__refuses_a_folder) {
  env["MRC_CONFIG"] = "/tmp";
  EXPECT_EQ(load(), "cannot read the configuration file /tmp: it is a folder; name a file (MRC_CONFIG names it)");
}

TEST_F(ConfigTest, load__reads_the_named_file) {
  char name[] = "/tmp/mrc_config_test_XXXXXX";
  const int fd = ::mkstemp(name);
  ASSERT_GE(fd, 0);
  ::close(fd);
  std::ofstream(name) << kTwoPlanes;
  env["MRC_CONFIG"] = name;
  EXPECT_EQ(load(), "");
  EXPECT_EQ(config.devices[0].name, "nic");
  std::ofstream(name) << "ev_count: none\n";
  EXPECT_EQ(load(), std::string(name) + ":1: key 'ev_count': value is 'none', allowed: 1..1024 EVs");
  ::unlink(name);
}

}  // namespace
}  // namespace mrc::device
