#include "daemon.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "control.h"
#include "datapath/links/link_monitor.h"
#include "packet_socket.h"
#include "report.h"

namespace mrc::softswitch {
namespace {

constexpr uint32_t kMaxFrames = 16384;

volatile sig_atomic_t ended = 0;

void end(int) {
  ended = 1;
}

uint32_t buffer_bytes(const SwitchConfig& config) {
  uint32_t mtu = 1280;
  for (const PortConfig& p : config.ports) mtu = std::max(mtu, p.mtu);
  return mtu + kEthernetHeader + 64;  // beyond the largest frame, so that one that is too large shows
}

Duration tick_of(const SwitchConfig& config) {
  double rate = 1;
  for (const PortConfig& p : config.ports) rate = std::max(rate, p.rate);
  const auto packet = Duration::nanoseconds(static_cast<int64_t>(std::min(4096 * 8e9 / rate, 1e9)));
  return std::clamp(packet, Duration::microseconds(50), Duration::microseconds(250));
}

// A switch is not slowed down by the programs of its hosts. Even at nice -20 it would wait for the end of their time
// slices, milliseconds at each switch on the way.
void set_realtime_priority() {
  const sched_param lowest_of_real_time{1};
  if (sched_setscheduler(0, SCHED_RR, &lowest_of_real_time) != 0)
    std::fprintf(stderr, "mrc-switch: runs at ordinary priority; a busy machine delays what it sends\n");
}

class Daemon {
 public:
  Daemon(const fabric::Topology& topology, const fabric::NodeConfig& node, const DaemonOptions& options)
      : config_(switch_config(topology, node)),
        pool_(buffer_bytes(config_), kMaxFrames),
        switch_(config_, &pool_),
        socket_(config_),
        control_(options.socket),
        tick_(options.tick == Duration() ? tick_of(config_) : options.tick),
        started_(monotonic_now()) {
    add_routes(node, config_, &switch_.forwarding());
    for (size_t i = 0; i < switch_.port_count(); ++i) switch_.set_up(static_cast<uint16_t>(i), false);
    if (const Status opened = links_.open(); !opened) throw fabric::FabricError(opened.error().text);
    follow_links();
  }

  void run(const sigset_t& while_waiting) {
    while (ended == 0) {
      const Instant now = monotonic_now();
      switch_.run(socket_.receive(&switch_, &pool_, now), &left_);
      socket_.send(&left_, &pool_);
      wait(while_waiting);
    }
  }

 private:
  // While frames are queued only the clock wakes this thread: frames that arrive meanwhile have time stamps.
  void wait(const sigset_t& while_waiting) {
    pollfd fds[3] = {{control_.fd(), POLLIN, 0}, {links_.fd(), POLLIN, 0}, {socket_.fd(), POLLIN, 0}};
    const Instant next = switch_.next_event();
    const bool idle = next == Instant::never();
    const Duration pause = std::max(next - monotonic_now(), tick_);
    const timespec limit{pause.ns() / 1000000000, pause.ns() % 1000000000};
    if (ppoll(fds, idle ? 3 : 2, idle ? nullptr : &limit, &while_waiting) <= 0) return;
    if (fds[1].revents != 0) follow_links();
    if (fds[0].revents != 0) control_.serve([this](const std::string& request) { return answer(request); });
  }

  void follow_links() {
    links_.read([this](const datapath::LinkState& link) {
      for (size_t i = 0; i < switch_.port_count(); ++i)
        if (socket_.interface_of(i) == link.interface) switch_.set_up(static_cast<uint16_t>(i), link.works);
    });
  }

  std::string answer(const std::string& request) {
    std::istringstream words(request);
    std::string verb, port;
    double bps = -1;
    words >> verb >> port >> bps;
    if (verb == "show") return report(switch_, socket_.counters(), monotonic_now() - started_);
    if (verb != "rate") return "error: allowed: show, rate PORT BPS";
    for (size_t i = 0; i < switch_.port_count(); ++i) {
      if (config_.ports[i].name != port) continue;
      if (bps < 0) return "error: rate in bits per second";
      switch_.set_rate(static_cast<uint16_t>(i), bps);
      return "ok";
    }
    return "error: there is no port '" + port + "'";
  }

  const SwitchConfig config_;
  FramePool pool_;
  Switch switch_;
  PacketSocket socket_;
  datapath::LinkMonitor links_;
  ControlServer control_;
  const Duration tick_;
  const Instant started_;
  std::vector<Frame*> left_;
};

}  // namespace

void run_daemon(const fabric::Topology& topology, const fabric::NodeConfig& node, const DaemonOptions& options) {
  struct sigaction action {};
  action.sa_handler = end;
  sigset_t blocked, before;
  sigemptyset(&blocked);
  for (const int s : {SIGINT, SIGTERM}) {
    sigaction(s, &action, nullptr);
    sigaddset(&blocked, s);
  }
  sigprocmask(SIG_BLOCK, &blocked, &before);  // they are delivered while this thread waits, and at no other time
  sigdelset(&before, SIGINT);
  sigdelset(&before, SIGTERM);
  prctl(PR_SET_TIMERSLACK, 1000);
  set_realtime_priority();
  Daemon daemon(topology, node, options);
  std::printf("ready\n");
  std::fflush(stdout);
  daemon.run(before);
}

}  // namespace mrc::softswitch
