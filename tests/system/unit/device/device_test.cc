// Devices over real loopback sockets: slots, a write from one to the other, the helper thread, stopping.
#include "device/device.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "device/qpn.h"
#include "device_fixture.h"
#include "harness/limits.h"
#include "unit/own_loopback.h"

namespace mrc::device {
namespace {

bool eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + harness::limit(std::chrono::seconds(30));
  while (!holds())
    if (std::chrono::steady_clock::now() > until) return false;
  return true;
}

// Two queue pairs that know each other by the given GID, something to send, and room for one immediate.
void join(End* from, End* to, size_t gid) {
  fill(&from->memory);
  from->connect(*to, to->device->config().gids[gid]);
  to->connect(*from, from->device->config().gids[gid]);
  to->post_recv();
}

// One write with immediate of a MiB, both devices driven from here.
void write_arrives(Device* a, Device* b) {
  End from(a, 1), to(b, 1);
  join(&from, &to, 3);
  from.write_imm(to, 1 << 20);
  while (from.completions == 0 || to.completions == 0) {
    a->progress();
    b->progress();
  }
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
  EXPECT_EQ(from.memory, to.memory);
}

TEST(Device, start__second_device_gets_another_slot) {
  const auto a = start(test_config());
  const auto b = start(test_config());
  EXPECT_NE(a->slot(), b->slot());  // which ones depends on what else runs on this host
  EXPECT_EQ(a->planes(), 4u);
  EXPECT_EQ(a->evs().size(), 80u);
  EXPECT_EQ(a->max_mtu(), 4096u);
  std::lock_guard lock(b->mutex());
  EXPECT_EQ(slot_of(b->qpns().take()), b->slot());
}

TEST(Device, write_imm__between_two_devices_over_sockets) {
  const auto a = start(test_config());
  const auto b = start(test_config());
  End from(a.get(), 1), to(b.get(), 1);
  fill(&from.memory);
  from.connect(to, b->config().gids[3]);
  to.connect(from, a->config().gids[0]);
  to.post_recv();
  from.write_imm(to, 1 << 20);
  while (from.completions == 0 || to.completions == 0) {
    a->progress();
    b->try_progress();
  }
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
  EXPECT_EQ(from.sent.at(0).wr_id, 42u);
  EXPECT_EQ(to.received.at(0).imm, 0x01020304u);
  EXPECT_EQ(from.memory, to.memory);
}

TEST(Device, write_imm__the_helpers_do_it_alone) {
  const auto a = start(test_config());
  const auto b = start(test_config());
  End from(a.get(), 1), to(b.get(), 1);
  join(&from, &to, 1);
  from.write_imm(to, 1 << 20);
  while (from.completions.load() == 0 || to.completions.load() == 0) std::this_thread::yield();
  std::scoped_lock lock(a->mutex(), b->mutex());
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
  EXPECT_EQ(from.memory, to.memory);
}

TEST(Device, write_imm__over_ipv4) {
  const DeviceConfig config = loopback_config(test_config().settings, false);
  const auto a = start(config);
  const auto b = start(config);
  write_arrives(a.get(), b.get());
}

TEST(Device, write_imm__structured_evs_travel_in_the_flow_label) {
  DeviceConfig config = test_config();
  if (!config.planes[0].addr.is_v4()) config.settings.ev_mode = EvMode::kStructured;
  const auto a = start(config);
  const auto b = start(config);
  if (!config.planes[0].addr.is_v4()) {
    for (const core::EvEntry& ev : a->evs()) EXPECT_NE(ev.value >> 16, 0u);
  }
  for (const core::EvEntry& ev : a->evs()) EXPECT_NE(ev.value & 0xFFFF, 0u);
  write_arrives(a.get(), b.get());
}

// [MRC-CC-11]: the settings choose the algorithm and its parameters, and the QP has them.
TEST(Device, congestion_control__as_the_settings_say) {
  for (const char* algorithm : {"nscc", "swift", "none"}) {
    DeviceConfig config = test_config();
    config.settings.congestion_control = algorithm;
    if (algorithm != std::string("none")) config.settings.congestion_parameters = "max_cwnd=123456";
    const auto a = start(config);
    const auto b = start(config);
    End from(a.get(), 1), to(b.get(), 1);
    join(&from, &to, 1);
    {
      std::lock_guard lock(a->mutex());
      EXPECT_EQ(a->endpoint().qp_status(from.qp).cwnd == 123456, algorithm != std::string("none")) << algorithm;
    }
    from.write_imm(to, 1 << 20);
    while (from.completions.load() == 0 || to.completions.load() == 0) std::this_thread::yield();
    std::scoped_lock lock(a->mutex(), b->mutex());
    EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess) << algorithm;
    EXPECT_EQ(from.memory, to.memory) << algorithm;
  }
}

TEST(Device, write_imm__to_itself) {
  const auto a = start(test_config());
  End from(a.get(), 1), to(a.get(), 1);
  join(&from, &to, 3);
  from.write_imm(to, 100000);
  while (from.completions == 0 || to.completions == 0) a->progress();
  EXPECT_EQ(std::memcmp(from.memory.data(), to.memory.data(), 100000), 0);
  EXPECT_EQ(to.memory[100000], 0);
}

TEST(Device, write_imm__with_faults) {
  DeviceConfig config = test_config();
  config.settings.fault = "seed=3; loss=0.02, dup=0.02, reorder=0.05";
  const auto a = start(config);
  const auto b = start(config);
  write_arrives(a.get(), b.get());
  EXPECT_NE(a->stats_text().find("driver.fault_dropped "), std::string::npos);
  EXPECT_EQ(a->stats_text().find("driver.fault_dropped 0\n"), std::string::npos);
}

// The receiver stops right after its completion, the sender has not polled yet (spec/clients.md rule 2).
TEST(Device, stop__the_peer_still_gets_its_acknowledgement) {
  DeviceConfig config = test_config();
  config.settings.linger_quiet_ms = 20;
  const auto a = start(config);
  auto b = start(config);
  End from(a.get(), 1);
  {
    auto to = std::make_unique<End>(b.get(), 1);
    from.connect(*to, b->config().gids[3]);
    to->connect(from, a->config().gids[3]);
    to->post_recv();
    from.write_imm(*to, 4096);
    while (to->completions == 0) b->progress();
  }
  b.reset();
  while (from.completions == 0) a->progress();
  std::lock_guard lock(a->mutex());
  EXPECT_EQ(from.sent.at(0).status, core::WcStatus::kSuccess);
}

TEST(Device, start__explains_addresses_that_are_not_here) {  // [MRC-PORT-6]
  DeviceConfig config = test_config();
  config.planes.resize(2);
  for (PlaneConfig& plane : config.planes) plane.addr = IpAddress::parse("192.0.2.1").value();
  const auto device = Device::start(config);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, EADDRNOTAVAIL);
  EXPECT_EQ(device.error().text.rfind("device 'mrc0': no plane can be opened; plane 1: cannot bind for 192.0.2.1", 0),
            0u)
      << device.error().text;
  EXPECT_NE(device.error().text.find(". These may be the addresses of another host: mrc-info --suggest"),
            std::string::npos)
      << device.error().text;
}

TEST(Device, start__a_plane_whose_address_is_not_here_is_down_from_the_start) {  // [MRC-PORT-6]
  DeviceConfig config = test_config();
  config.planes[1].addr = IpAddress::parse(config.planes[0].addr.is_v4() ? "192.0.2.1" : "2001:db8::1").value();
  const auto device = start(config);
  ASSERT_TRUE(device);
  std::lock_guard lock(device->mutex());
  for (const PlaneId p : PlaneSet::all(config.planes.size())) EXPECT_EQ(device->endpoint().plane_up(p), p != 1_plane);
  device->enable_plane_locked(1_plane, true);  // that does not open it
  EXPECT_FALSE(device->endpoint().plane_up(1_plane));
}

// Data flow between two devices before and after, each time over the planes that are there.
TEST(Device, closed_plane__joins_with_queue_pairs_that_exist) {  // [MRC-PORT-6]
  with_own_loopback([] {
    ASSERT_TRUE(set_loopback(true));
    for (const bool watch_links : {true, false}) {
      const char* missing = watch_links ? "192.0.2.1" : "198.51.100.1";
      DeviceConfig config = loopback_config(test_config().settings, false);
      config.settings.same_host = SameHost::kNetwork;
      config.settings.watch_links = watch_links;
      config.planes[1].addr = IpAddress::parse(missing).value();
      auto a = start(config), b = start(config);
      ASSERT_TRUE(a && b);
      End from(a.get(), 1), to(b.get(), 1);
      from.connect(to, config.gids[3]);
      to.connect(from, config.gids[3]);
      to.post_recv();
      from.write_imm(to, 1 << 20);
      const auto completes = [&](int count) {
        return eventually([&] {
          a->progress();
          b->progress();
          return from.completions == count && to.completions == count;
        });
      };
      const auto received = [&](PlaneId plane) {
        std::lock_guard lock(b->mutex());
        return b->endpoint().plane_counters(plane).rx_packets;
      };
      ASSERT_TRUE(completes(1));
      EXPECT_EQ(received(1_plane), 0u);
      ASSERT_TRUE(add_loopback_address(missing));
      for (const auto& device : {a, b})
        ASSERT_TRUE(eventually([&] {
          std::lock_guard lock(device->mutex());
          return device->endpoint().plane_up(1_plane);
        }));
      to.post_recv();
      from.write_imm(to, 1 << 20);
      ASSERT_TRUE(completes(2));
      EXPECT_TRUE(eventually([&] {  // probes find it at the latest
        a->progress();
        b->progress();
        return received(1_plane) > 0;
      }));
    }
  });
}

}  // namespace
}  // namespace mrc::device
