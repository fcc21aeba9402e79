// Histograms that a daemon gets over its socket: the last ones before a peer or the device goes, and those of a new
// connection. [MRC-MON-9]
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
