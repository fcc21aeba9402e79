// Histograms that a daemon gets over its socket: the last ones before a peer or the device goes, and those of a new
// connection. [MRC-MON-9]
#include <memory>
#include <mutex>
#include <optional>

#include "asking_daemon.h"
#include "device_fixture.h"

namespace mrc::device {
namespace {

// A device with a daemon, and writes of it to another one.
struct Reporting {
  Reporting() {
    DeviceConfig config = test_config();
    config.settings.mrcd_socket = daemon.path();
    device = start(config);
    daemon.accept();
    target = start(test_config());
    to.emplace(target.get(), 1);
    from.emplace(device.get(), 1);
    from->connect(*to, target->config().gids[3]);
    to->connect(*from, device->config().gids[3]);
    std::lock_guard lock(device->mutex());
    peer = *device->resolve_peer_locked(target->config().gids[3], to->qpn);
  }
  void write() {
    const int before = from->completions;
    to->post_recv();
    from->write_imm(*to, 4096);
    while (from->completions == before) {
      device->progress();
      target->try_progress();
    }
  }
  // As the API does when a QP is destroyed.
  void destroy() {
    from.reset();
    std::lock_guard lock(device->mutex());
    device->release_peer_locked(peer);
  }

  static uint64_t count(const std::optional<ctl::ReportAnswer>& answer) {
    uint64_t sum = 0;
    if (answer)
      for (const ctl::PeerReport& peer : answer->data.peers)
        for (const auto& n : peer.completion.counts) sum += n;
    return sum;
  }

  AskingDaemon daemon;
  std::shared_ptr<Device> device, target;
  std::optional<End> to, from;
  core::PeerId peer = core::kNoPeer;
};

TEST(DelayReports, a_device_that_stops_sends_its_last_figures) {
  Reporting r;
  r.write();
  r.daemon.ask(7);
  const auto asked = r.daemon.report();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->token, 7u);
  EXPECT_EQ(r.count(asked), 1u);
  r.write();
  r.device->stop();
  const auto last = r.daemon.report();
  ASSERT_TRUE(last) << "the connection has ended without them";
  EXPECT_EQ(last->token, ctl::kLastFigures);
  EXPECT_EQ(r.count(last), 2u);
  EXPECT_FALSE(r.daemon.report());
}

TEST(DelayReports, a_peer_that_goes_with_its_queue_pair_is_in_the_next_report) {
  Reporting r;
  r.write();
  r.destroy();
  r.daemon.ask(7);
  const auto last = r.daemon.report();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->token, ctl::kLastFigures);
  EXPECT_EQ(r.count(last), 1u);
  const auto asked = r.daemon.report();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->token, 7u);
  EXPECT_TRUE(asked->data.peers.empty());
  r.device->stop();
  EXPECT_FALSE(r.daemon.report());
}

TEST(DelayReports, the_next_daemon_is_told_what_is_new) {
  Reporting r;
  r.write();
  r.daemon.ask(7);
  EXPECT_EQ(r.count(r.daemon.report()), 1u);
  r.daemon.drop();
  r.daemon.accept();  // the device connects again within a second or two
  r.daemon.ask(8);
  EXPECT_EQ(r.count(r.daemon.report()), 0u);
  r.write();
  r.daemon.ask(9);
  EXPECT_EQ(r.count(r.daemon.report()), 1u);
}

}  // namespace
}  // namespace mrc::device
