// Reports between the engines of a device: the queue, and what becomes of a path that one of them finds dead.
// [MRC-EVS-16]
#include "device/shard_inbox.h"

#include <poll.h>

#include <map>
#include <thread>

#include "device/shards.h"
#include "device_fixture.h"

namespace mrc::device {
namespace {

bool readable(const ShardInbox& inbox) {
  pollfd wait = {inbox.fd(), POLLIN, 0};
  return ::poll(&wait, 1, 0) == 1;
}

core::PathReport report(uint32_t ev) {
  return {IpAddress::v4(10, 0, 0, 1), ev, plane_at(0)};
}

TEST(ShardInbox, take__all_in_their_order) {
  ShardInbox inbox;
  EXPECT_FALSE(readable(inbox));
  EXPECT_TRUE(inbox.take().empty());
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(inbox.push(report(i)));
    EXPECT_TRUE(readable(inbox));
    const std::vector<ShardInbox::Report> taken = inbox.take();
    EXPECT_FALSE(readable(inbox));
    ASSERT_EQ(taken.size(), 3u);
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(std::get<core::PathReport>(taken[i]).ev, i);
  }
}

// Two engines whose EVs name the same paths, and a host that both send to.
class ShardReports : public ::testing::Test {
 protected:
  static constexpr EvIndex kDead = EvIndex(2);

  void SetUp() override {
    if (!ipv6_loopback_works()) GTEST_SKIP() << "SRv6 paths need IPv6, which this host lacks";
    DeviceConfig config = test_config();
    config.settings.ev_mode = EvMode::kSrv6;
    config.settings.srv6_paths = "::/0 direct";
    config.settings.ev_count = 16;
    config.settings.ev_backups = 0;
    host_ = start(config);
    config.settings.fault = "ev=2:blackhole";
    std::vector<std::shared_ptr<Device>> engines;
    for (uint32_t shard = 0; shard < 2; ++shard) {
      Result<std::shared_ptr<Device>> engine = Device::start(config, {shard, 2, 0});
      ASSERT_TRUE(engine) << engine.error().text;
      engines.push_back(*std::move(engine));
    }
    shards_ = std::make_unique<Shards>(std::move(engines));
  }
  Device* shard(uint32_t n) { return &(*shards_)[n]; }
  static core::EvStatus dead_ev(Device* device) {
    const DeviceLock lock(device->mutex());
    return device->endpoint().ev_status(device->endpoint().peers().at(0))[kDead];
  }
  void join(End* from, End* to) {
    from->connect(*to, host_->config().gids[3]);
    to->connect(*from, from->device->config().gids[3]);
  }
  void write(End* from, End* to) {
    to->post_recv();
    from->write_imm(*to, 1 << 20);
    const int before = sent_[from]++;
    while (from->completions.load() == before) {
      from->device->progress();
      host_->progress();
    }
  }

  std::shared_ptr<Device> host_;
  std::unique_ptr<Shards> shards_;
  std::map<End*, int> sent_;
};

TEST_F(ShardReports, a_path_that_one_engine_finds_dead_is_not_used_by_the_other) {
  End from(shard(0), 1), to(host_.get(), 1), later_from(shard(1), 1), later_to(host_.get(), 1);
  join(&from, &to);
  join(&later_from, &later_to);
  while (dead_ev(shard(0)).state != core::EvState::kAssumedBad) write(&from, &to);
  while (dead_ev(shard(1)).state != core::EvState::kAssumedBad) std::this_thread::yield();  // its helper
  EXPECT_GT(dead_ev(shard(0)).losses, 0u);
  for (int i = 0; i < 3; ++i) write(&later_from, &later_to);
  EXPECT_EQ(dead_ev(shard(1)).tx_packets, 0u);
  EXPECT_EQ(dead_ev(shard(1)).losses, 0u);
}

}  // namespace
}  // namespace mrc::device
