// Which way the settings choose for packets to processes of this host. [MRC-LOCAL-7]
#include "device/host_path.h"

#include <gtest/gtest.h>

namespace mrc::device {
namespace {

std::string opened(const Settings& settings) {
  DeviceConfig config = loopback_config(settings, true);
  for (PlaneConfig& plane : config.planes) plane.port = 0, plane.port_base = 0;  // any free one
  config.settings.second_port = 0;
  const auto path = open_host_datapath(config, 1);
  EXPECT_TRUE(path) << path.error().text;
  return path ? path->datapath->describe() : "";
}

bool through_memory(const Settings& settings) {
  return opened(settings).find("through shared memory") != std::string::npos;
}

TEST(HostPath, processes_of_this_host_through_memory_unless_told_otherwise) {
  Settings settings;
  EXPECT_TRUE(through_memory(settings));
  settings.same_host = SameHost::kNetwork;
  EXPECT_FALSE(through_memory(settings));
}

TEST(HostPath, where_switches_are_named_packets_pass_them) {
  Settings settings;
  settings.ev_mode = EvMode::kStructured;
  EXPECT_TRUE(through_memory(settings));
  settings.ev_mode = EvMode::kSrv6;
  settings.srv6_paths = "::/0 direct";
  EXPECT_FALSE(through_memory(settings));
}

// The shards of a process have their slots in a row, without trying again those that they have.
TEST(HostPath, the_search_for_a_slot_begins_where_it_is_told) {
  const DeviceConfig config = loopback_config(Settings(), true);
  const auto path = open_host_datapath(config, 1, 40);
  ASSERT_TRUE(path) << path.error().text;
  EXPECT_GE(path->slot, 40u);  // other processes may have some
}

}  // namespace
}  // namespace mrc::device
