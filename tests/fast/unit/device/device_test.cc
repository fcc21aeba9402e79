// Whole devices in virtual time: engine, progress and planes over a datapath in memory.
#include "device/device.h"

#include <algorithm>
#include <vector>

#include "virtual_devices.h"

namespace mrc::device {
namespace {

// One write with immediate of a MiB. What the devices count, so that runs can be compared.
std::string write_arrives(VirtualPair* pair) {
  End from(pair->a.get(), 1), to(pair->b.get(), 1);
  fill(&from.memory);
  pair->connect(&from, &to);
  to.post_recv();
  from.write_imm(to, 1 << 20);
  EXPECT_TRUE(pair->run_until([&] { return from.completions == 1 && to.completions == 1; }));
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
  EXPECT_EQ(from.sent.at(0).wr_id, 42u);
  EXPECT_EQ(to.received.at(0).imm, 0x01020304u);
  EXPECT_EQ(from.memory, to.memory);
  return pair->a->stats_text() + pair->b->stats_text();
}

TEST(VirtualDevice, write_imm__arrives) {
  VirtualPair pair;
  write_arrives(&pair);
}

TEST(VirtualDevice, write_imm__over_planes_that_are_often_full) {
  VirtualPair pair(virtual_config(), "", 1);  // one burst per plane
  write_arrives(&pair);
}

TEST(VirtualDevice, write_imm__with_losses_duplicates_and_disorder) {
  for (int seed = 1; seed <= 20; ++seed) {
    VirtualPair pair(virtual_config(), "seed=" + std::to_string(seed) + "; loss=0.02, dup=0.02, reorder=0.05");
    const std::string counts = write_arrives(&pair);
    EXPECT_EQ(counts.find("driver.fault_dropped 0\n"), counts.find("driver.fault_dropped 0\n", counts.size() / 2))
        << "seed " << seed << ": nothing was lost";
  }
}

// Time and randomness are arguments: nothing else decides what happens.
TEST(VirtualDevice, write_imm__the_same_in_every_run) {
  const auto run = [] {
    VirtualPair pair(virtual_config(), "seed=7; loss=0.05, reorder=0.05");
    return write_arrives(&pair);
  };
  EXPECT_EQ(run(), run());
}

TEST(VirtualDevice, a_peer_that_is_gone_fails_the_request_and_not_sooner_than_its_retries) {
  VirtualPair pair;
  End from(pair.a.get(), 1), to(pair.b.get(), 1);
  pair.connect(&from, &to);
  pair.b->stop();
  const Instant begin = pair.clock.now();
  from.write_imm(to, 4096);
  while (from.completions == 0 && pair.clock.now() - begin < Duration::seconds(600)) {
    pair.a->progress();
    pair.clock.advance(Duration::milliseconds(1));
  }
  ASSERT_EQ(from.completions, 1);
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kRetryExceeded);
  EXPECT_GT(pair.clock.now() - begin, Duration::milliseconds(50));
}

TEST(VirtualDevice, a_plane_that_is_switched_off_carries_nothing_until_it_is_on) {
  VirtualPair pair;
  End from(pair.a.get(), 1), to(pair.b.get(), 1);
  pair.connect(&from, &to);
  const auto sent = [&](PlaneId plane) {
    const DeviceLock lock(pair.a->mutex());
    return pair.a->endpoint().plane_counters(plane).tx_packets;
  };
  const auto set = [&](bool on) {
    const DeviceLock lock(pair.a->mutex());
    pair.a->enable_plane_locked(1_plane, on);
    EXPECT_EQ(pair.a->plane_enabled_locked(1_plane), on);
  };
  int done = 0;
  const auto write = [&] {
    to.post_recv();
    from.write_imm(to, 1 << 20);
    ++done;
    EXPECT_TRUE(pair.run_until([&] { return from.completions == done && to.completions == done; }));
  };
  set(false);
  write();
  EXPECT_EQ(sent(1_plane), 0u);
  EXPECT_GT(sent(0_plane), 0u);
  set(true);
  write();
  EXPECT_GT(sent(1_plane), 0u);
}

TEST(VirtualDevice, stop__progress_does_nothing_afterwards) {
  VirtualPair pair;
  End from(pair.a.get(), 1), to(pair.b.get(), 1);
  pair.connect(&from, &to);
  to.post_recv();
  from.write_imm(to, 4096);
  pair.b->stop();
  const std::string before = pair.b->stats_text();
  EXPECT_EQ(pair.b->progress(), 0);
  EXPECT_EQ(pair.b->try_progress(), 0);
  pair.b->stop();
  EXPECT_EQ(pair.b->stats_text(), before);
}

DeviceConfig lingering(int quiet_ms, int max_ms) {
  DeviceConfig config = virtual_config();
  config.settings.linger_quiet_ms = quiet_ms;
  config.settings.linger_ms = max_ms;
  return config;
}

TEST(VirtualDevice, stop__waits_until_nothing_has_arrived_for_a_while) {
  VirtualPair pair(lingering(20, 1000));
  write_arrives(&pair);
  const Instant begin = pair.clock.now();
  pair.b->stop();
  EXPECT_GE(pair.clock.now() - begin, Duration::milliseconds(19));
  EXPECT_LE(pair.clock.now() - begin, Duration::milliseconds(21));
}

TEST(VirtualDevice, stop__waits_for_nothing_where_nothing_has_arrived) {
  VirtualPair pair(lingering(20, 1000));
  const Instant begin = pair.clock.now();
  pair.b->stop();
  EXPECT_EQ(pair.clock.now(), begin);
}

// The peer sends for ever.
TEST(VirtualDevice, stop__waits_no_longer_than_configured) {
  VirtualPair pair(lingering(20, 100));
  End from(pair.a.get(), 1), to(pair.b.get(), 1);
  pair.connect(&from, &to);
  const auto send = [&] {
    from.write(to, 64);
    pair.a->progress();
  };
  send();
  pair.b->progress();
  pair.clock.meanwhile = send;
  const Instant begin = pair.clock.now();
  pair.b->stop();
  pair.clock.meanwhile = nullptr;
  EXPECT_GE(pair.clock.now() - begin, Duration::milliseconds(100));
  EXPECT_LE(pair.clock.now() - begin, Duration::milliseconds(101));
}

// The receiver stops right after its completion, and the sender asks only now (spec/clients.md rule 2).
TEST(VirtualDevice, stop__the_peer_still_gets_its_acknowledgement) {
  VirtualPair pair(lingering(20, 1000));
  End from(pair.a.get(), 1), to(pair.b.get(), 1);
  pair.connect(&from, &to);
  to.post_recv();
  from.write_imm(to, 4096);
  while (to.completions == 0) {
    pair.b->progress();
    pair.clock.advance(VirtualPair::kStep);
  }
  pair.b->stop();
  EXPECT_TRUE(pair.run_until([&] { return from.completions == 1; }));
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
}

// What a seed repeats are the numbers of queue pairs, too, or a run is not the same one.
TEST(VirtualDevice, qp_numbers__follow_the_seed) {
  const auto numbers = [](int64_t seed) {
    DeviceConfig config = virtual_config();
    config.settings.seed = seed;
    const VirtualPair pair(config);
    const DeviceLock lock(pair.a->mutex());
    return std::pair(pair.a->qpns().take(), pair.a->qpns().take());
  };
  EXPECT_EQ(numbers(1), numbers(1));
  EXPECT_NE(numbers(1), numbers(2));
  EXPECT_NE(numbers(0), numbers(0));
}

}  // namespace
}  // namespace mrc::device
