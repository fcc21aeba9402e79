// How many engines a device has.
#include "device/shards.h"

#include <gtest/gtest.h>

namespace mrc::device {
namespace {

uint32_t count(int64_t setting, double gbps, uint32_t processors) {
  DeviceConfig config;
  config.settings.shards = setting;
  config.line_rate_gbps = gbps;
  return shard_count(config, processors);
}

TEST(Shards, shard_count__as_set) {
  EXPECT_EQ(Settings().shards, 1);
  EXPECT_EQ(count(1, 400, 64), 1u);
  EXPECT_EQ(count(5, 0, 1), 5u);
}

TEST(Shards, shard_count__by_rate_and_processors) {
  EXPECT_EQ(count(0, 0, 8), 1u) << "the rate is not known";
  EXPECT_EQ(count(0, 25, 8), 1u);
  EXPECT_EQ(count(0, 26, 8), 2u);
  EXPECT_EQ(count(0, 100, 8), 4u);
  EXPECT_EQ(count(0, 400, 8), 8u);
  EXPECT_EQ(count(0, 400, 0), 1u) << "the number of processors is not known";
  EXPECT_EQ(count(0, 10000, 1000), 64u);
}

// NICs know no process slots: they send to the standard port, which one engine has.
TEST(Shards, shard_count__one_where_there_cannot_be_more) {
  DeviceConfig config;
  config.settings.shards = 4;
  EXPECT_EQ(shard_count(config, 8), 4u);
  config.peers_are_nics = true;
  EXPECT_EQ(shard_count(config, 8), 1u);
  config.peers_are_nics = false;
  config.peers.resize(2);
  EXPECT_EQ(shard_count(config, 8), 4u);
  config.peers[1].nic = true;
  EXPECT_EQ(shard_count(config, 8), 1u);
  config.peers.clear();
  config.settings.datapath = DatapathKind::kRaw;
  EXPECT_EQ(shard_count(config, 8), 1u);
}

}  // namespace
}  // namespace mrc::device
