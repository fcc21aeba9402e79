#include "monitor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>

namespace mrc::mrcd {

namespace {

constexpr Duration kProbeTick = Duration::milliseconds(5);
constexpr Duration kConcludeTick = Duration::milliseconds(50);
constexpr Duration kSendTick = Duration::milliseconds(250);
constexpr Duration kReportLifetime = Duration::seconds(5);

// The T1s that this host probes: the same at every start, another part on every host.
bool is_mine(const std::string& host, uint32_t plane, uint16_t t1, double share) {
  const size_t hash = std::hash<std::string>()(host + "/" + std::to_string(plane) + "/" + std::to_string(t1));
  return static_cast<double>(hash % 1000003) < share * 1000003;
}

Event event_of(const char* what, const std::string& text, const Finding& finding) {
  return {.what = what, .text = text, .plane = finding.plane, .t0 = finding.t0, .t1 = finding.t1};
}

}  // namespace

Monitor::Monitor(Loop* loop, Service* service, const device::DeviceConfig& config, const Settings& settings)
    : loop_(*loop), service_(*service), config_(config), settings_(settings), host_(config.gids.front().to_string()) {}

Monitor::~Monitor() {
  for (const Fd& fd : prober_.sockets()) loop_.unwatch(fd.get());
  if (peer_socket_) loop_.unwatch(peer_socket_.get());
}

Status Monitor::start() {
  Result<std::vector<LoopPath>> found = loop_paths(config_);
  if (!found) return std::move(found).error();
  std::vector<LoopPath> loops = *std::move(found);
  own_.resize(config_.planes.size());
  for (const LoopPath& loop : loops) {
    own_[loop.plane - 1].t0 = usid_text(loop.t0);
    if (loop.t1 != 0) ++own_[loop.plane - 1].t1s;
  }
  loops.erase(std::remove_if(loops.begin(), loops.end(),
                             [&](const LoopPath& l) {
                               return l.t1 != 0 && !is_mine(host_, l.plane, l.t1, settings_.probe_share);
                             }),
              loops.end());
  if (loops.empty()) return invalid("device '" + config_.name + "': srv6_loop has no loop for its addresses");
  if (Status opened = prober_.open(config_, std::move(loops)); !opened) return opened;
  if (Status opened = open_peers(); !opened) return opened;
  JudgeConfig judge;
  judge.loss = settings_.probe_loss;
  const Instant now = steady_now();
  const size_t count = prober_.paths().size();
  const auto interval = Duration::nanoseconds(static_cast<int64_t>(1e9 / settings_.probe_rate));
  for (size_t i = 0; i < count; ++i)  // not all at once
    paths_.push_back({PathJudge(judge), now + Duration::nanoseconds(interval.ns() / static_cast<int64_t>(count) *
                                                                    static_cast<int64_t>(i))});
  for (const Fd& fd : prober_.sockets()) loop_.watch(fd.get(), [this] { collect(steady_now()); });
  loop_.every(kProbeTick, [this](Instant t) { probe(t); });
  loop_.every(kConcludeTick, [this](Instant t) { conclude(t); });
  if (!peers_.empty()) loop_.every(kSendTick, [this](Instant) { send_to_peers(); });
  return {};
}

void Monitor::probe(Instant now) {
  const auto interval = Duration::nanoseconds(static_cast<int64_t>(1e9 / settings_.probe_rate));
  // After a pause a path gets the probes of two ticks at most, or the answers would overrun the socket.
  const auto max = static_cast<int>(2 * kProbeTick.ns() / std::max<int64_t>(interval.ns(), 1)) + 2;
  for (size_t i = 0; i < paths_.size(); ++i) {
    Path& path = paths_[i];
    for (int n = 0; n < max && path.next <= now; ++n) {
      prober_.send(i);
      ++path.sent;
      path.next = path.next + interval;
    }
    path.next = std::max(path.next, now);  // probes missed in a pause are not made up for
  }
  collect(now);
}

void Monitor::collect(Instant now) {
  prober_.collect([&](const LoopProber::Outcome& outcome) {
    Path& path = paths_[outcome.path];
    path.judge.add(now, outcome.answered);
    path.lost += !outcome.answered;
    const double rtt_us = static_cast<double>(outcome.rtt.ns()) / 1000;
    if (outcome.answered) path.rtt_us = path.rtt_us == 0 ? rtt_us : path.rtt_us + (rtt_us - path.rtt_us) / 8;
  });
}

std::vector<Observation> Monitor::observations() const {
  std::vector<Observation> all;
  for (size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].judge.probes() == 0 && !paths_[i].judge.bad()) continue;
    const LoopPath& loop = prober_.paths()[i];
    const std::string t0 = usid_text(loop.t0);
    const PathJudge& judge = paths_[i].judge;
    all.push_back({loop.plane, host_, t0, loop.t1 != 0 ? usid_text(loop.t1) : "", t0, host_, judge.bad(),
                   judge.bad()    ? judge.worst()
                   : loop.t1 == 0 ? judge.suspicion()
                                  : judge.loss()});
  }
  return all;
}

void Monitor::conclude(Instant now) {
  for (auto at = reports_.begin(); at != reports_.end();)
    at = now - at->second.at > kReportLifetime ? reports_.erase(at) : ++at;
  std::vector<Observation> all = observations();
  for (const auto& [entry, report] : reports_)
    all.insert(all.end(), report.observations.begin(), report.observations.end());
  std::vector<Finding> found = localise(all);
  const auto among = [](const Finding& f, const std::vector<Finding>& list) {
    return std::find(list.begin(), list.end(), f) != list.end();
  };
  for (const Finding& f : found)
    if (!among(f, findings_)) service_.event(event_of("fault", f.text(), f));
  for (const Finding& f : findings_)
    if (!among(f, found)) service_.event(event_of("healed", f.text() + " is over", f));
  findings_ = std::move(found);

  SharedDevice* device = service_.device(config_.name);
  if (device == nullptr) return;
  const DenyChange change = change_to(denies_for(findings_, host_, own_planes(*device)), device->denies());
  for (const ctl::DenyRule& rule : change.remove) service_.allow(device, rule);
  for (const ctl::DenyRule& rule : change.add) service_.deny(device, rule);
}

std::vector<OwnPlane> Monitor::own_planes(const SharedDevice& device) const {
  std::vector<OwnPlane> planes = own_;
  for (uint32_t port : device.ports_down())
    if (port >= 1 && port <= planes.size()) planes[port - 1].out = true;
  for (const ctl::DenyRule& rule : device.denies())
    if (rule.by != ctl::kMonitor && rule.plane >= 1 && rule.plane <= planes.size() && rule.is_whole_plane())
      planes[rule.plane - 1].out = true;
  return planes;
}

MonitorStatus Monitor::status() const {
  MonitorStatus status{true, host_, config_.name, {}, findings_, {}};
  for (uint32_t p = 1; p <= own_.size(); ++p) {
    PlaneStatus plane{p, own_[p - 1].t0, {}};
    for (size_t i = 0; i < paths_.size(); ++i) {
      const LoopPath& loop = prober_.paths()[i];
      if (loop.plane != p) continue;
      const Path& path = paths_[i];
      plane.paths.push_back({loop.t1 != 0 ? usid_text(loop.t1) : "", path.judge.bad(),
                             path.judge.bad() ? path.judge.worst() : path.judge.loss(), path.rtt_us, path.sent,
                             path.lost});
    }
    status.planes.push_back(std::move(plane));
  }
  for (const auto& [entry, report] : reports_) {
    OtherHost& other = status.peers.emplace_back();
    other.host = report.host;
    for (const Observation& o : report.observations) other.observations.push_back({o.plane, o.t0, o.t1, o.bad, o.loss});
  }
  return status;
}

}  // namespace mrc::mrcd
