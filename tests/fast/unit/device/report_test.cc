// Reports of devices: counters, the resolved configuration, port events.
#include <nlohmann/json.hpp>

#include "virtual_devices.h"

namespace mrc::device {
namespace {

struct PortWatcher final : DeviceObserver {
  void on_port_event(PlaneId plane, core::AsyncEvent e) override { seen.push_back({plane, e}); }
  void on_endpoint_response(uint16_t, PlaneId, Duration) override {}
  std::vector<std::pair<PlaneId, core::AsyncEvent>> seen;
};

TEST(Device, observers__are_told_of_ports_until_they_are_removed) {
  const VirtualPair pair;
  const auto& a = pair.a;
  PortWatcher watcher;
  a->add_observer(&watcher);
  const auto set = [&](bool up) {
    std::lock_guard lock(a->mutex());
    a->endpoint().set_plane_up(a->now(), 2_plane, up);
  };
  set(false);
  set(true);
  a->remove_observer(&watcher);
  set(false);
  ASSERT_EQ(watcher.seen.size(), 2u);
  EXPECT_EQ(watcher.seen[0], std::make_pair(2_plane, core::AsyncEvent::kPortDown));
  EXPECT_EQ(watcher.seen[1], std::make_pair(2_plane, core::AsyncEvent::kPortUp));
}

TEST(Device, reports__tell_the_line_rate_in_force) {
  DeviceConfig config = virtual_config();
  for (const double gbps : {0.0, 50.0, 12.5}) {  // of cards: the setting stays 0
    config.line_rate_gbps = gbps;
    const auto j = nlohmann::json::parse(VirtualPair(config).a->describe_json());
    EXPECT_EQ(j["line_rate_gbps"], gbps);
    EXPECT_EQ(j["settings"]["line_rate_gbps"], "0");
  }
}

TEST(Device, reports__are_well_formed) {
  const VirtualPair pair;
  const auto& a = pair.a;
  const auto j = nlohmann::json::parse(a->describe_json());
  EXPECT_EQ(j["name"], "mrc0");
  EXPECT_EQ(j["planes"].size(), 4u);
  EXPECT_EQ(j["evs"].size(), 16u);
  EXPECT_EQ(j["settings"]["ev_count"], "64");
  EXPECT_NE(a->stats_text().find("\nplane.4.rx_bytes 0\n"), std::string::npos);
  EXPECT_EQ(a->stats_text().rfind("tx_packets 0\n", 0), 0u);
  EXPECT_EQ(a->qp_stats_text(nullptr), "");
  End end(a.get(), 1);
  EXPECT_EQ(a->qp_stats_text(end.qp).rfind("qpn " + std::to_string(end.qpn.value()) + "\n", 0), 0u);
}

}  // namespace
}  // namespace mrc::device
