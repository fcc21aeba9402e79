// Histograms that mrcd is told of: since the connection, each request once, and the last ones before a peer or the
// device goes. [MRC-MON-9]
#include "device/delay_reports.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "device_fixture.h"
#include "fd.h"

namespace mrc::device {
namespace {

using Json = nlohmann::json;
using Peers = DelayReports::Peers;

ctl::PeerReport peer_with(uint32_t number, uint64_t completions, const std::string& address = "10.0.0.1") {
  ctl::DelayReport delays{completions * 8000, std::vector<ctl::Whole<uint64_t>>(ctl::DelayReport::kCounts)};
  delays.counts[3] = completions;
  return {number, {address}, {}, delays, {}};
}

uint64_t completions_of(const ctl::PeerReport& peer) {
  return peer.completion.counts.empty() ? 0 : peer.completion.counts[3].number();
}

// The figures of the peers that are there, and of those that were released.
std::pair<Peers, Peers> reported(DelayReports* delays, Peers peers) {
  delays->begin();
  Peers released = delays->next(&peers);
  return {peers, released};
}

TEST(DelayReports, count_from_the_connection) {
  DelayReports delays;
  delays.on_connected();
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 5)}).first.at(0)), 5u);
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 7)}).first.at(0)), 7u);
  delays.on_connected();
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 7), peer_with(2, 3)}).first.at(0)), 0u);
  const Peers peers = reported(&delays, {peer_with(1, 8), peer_with(2, 4)}).first;
  EXPECT_EQ(completions_of(peers.at(0)), 1u);
  EXPECT_EQ(peers.at(0).completion.sum_ns, 8000u);
  EXPECT_EQ(completions_of(peers.at(1)), 4u);
}

TEST(DelayReports, a_released_peer_is_reported_once_more) {
  DelayReports delays;
  delays.on_connected();
  reported(&delays, {peer_with(1, 5), peer_with(2, 1)});
  delays.on_connected();
  delays.on_released(peer_with(1, 6));
  delays.on_released(peer_with(9, 4));  // it came and went between two reports
  auto [peers, released] = reported(&delays, {peer_with(2, 1)});
  EXPECT_EQ(peers.size(), 1u);
  ASSERT_EQ(released.size(), 2u);
  EXPECT_EQ(completions_of(released[0]), 1u);
  EXPECT_EQ(completions_of(released[1]), 4u);
  EXPECT_TRUE(reported(&delays, {peer_with(2, 1)}).second.empty());
}

TEST(DelayReports, figures_not_reported_to_a_connection_go_to_the_next_one) {
  DelayReports delays;
  delays.on_connected();
  reported(&delays, {peer_with(1, 5)});
  delays.on_released(peer_with(1, 8));
  delays.on_connected();
  EXPECT_EQ(completions_of(reported(&delays, {}).second.at(0)), 3u);
}

TEST(DelayReports, a_number_that_is_used_again_is_another_peer) {
  DelayReports delays;
  delays.on_connected();
  reported(&delays, {peer_with(1, 5)});
  delays.on_connected();
  delays.on_released(peer_with(1, 5));
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 6)}).first.at(0)), 6u);
  delays.on_connected();
  EXPECT_EQ(completions_of(reported(&delays, {peer_with(1, 2)}).first.at(0)), 2u) << "released unseen: it has fallen";
}

TEST(DelayReports, a_peer_that_is_released_during_a_report_is_in_it_once) {
  DelayReports delays;
  delays.on_connected();
  delays.begin();
  Peers peers = {peer_with(1, 5), peer_with(2, 1)};
  delays.on_released(peer_with(1, 6));
  const Peers released = delays.next(&peers);
  ASSERT_EQ(peers.size(), 1u);
  EXPECT_EQ(peers[0].peer, 2u);
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(completions_of(released[0]), 6u);
}

TEST(DelayReports, keeps_a_limited_number_of_released_peers) {
  DelayReports delays;
  for (uint32_t i = 0; i <= DelayReports::kMaxReleased; ++i) delays.on_released(peer_with(i, 1));
  EXPECT_EQ(reported(&delays, {}).second.size(), DelayReports::kMaxReleased);
}

// The socket of a daemon that asks for reports.
class Asking {
 public:
  Asking() {
    char name[] = "/tmp/mrc-asking-XXXXXX";
    folder_ = ::mkdtemp(name);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path().c_str(), sizeof at.sun_path - 1);
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(listener_.get(), 4), 0);
  }
  ~Asking() { std::filesystem::remove_all(folder_); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  std::string path() const { return folder_ + "/mrcd.sock"; }
  void accept() { link_ = Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }
  void drop() { link_ = Fd(); }
  void ask(int token) {
    const std::string line = Json{{"want", token}}.dump() + "\n";
    EXPECT_EQ(::send(link_.get(), line.data(), line.size(), MSG_NOSIGNAL), static_cast<ssize_t>(line.size()));
  }
  // The next report; none: the connection has ended.
  std::optional<ctl::ReportAnswer> report() {
    std::string line;
    for (char c; ::recv(link_.get(), &c, 1, 0) == 1;) {
      if (c != '\n') {
        line += c;
        continue;
      }
      const Json message = Json::parse(line);
      if (message.contains("report")) return message["report"].get<ctl::ReportAnswer>();
      line.clear();
    }
    return std::nullopt;
  }

 private:
  std::string folder_;
  Fd listener_, link_;
};

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

  Asking daemon;
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
