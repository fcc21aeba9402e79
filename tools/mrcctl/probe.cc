#include "probe.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "ctl/deny.h"
#include "device.h"
#include "judge.h"
#include "loop_prober.h"
#include "paths.h"

namespace mrcctl {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr uint32_t kNsPerMs = 1'000'000;
constexpr size_t kBatch = 256;  // probes at once: a burst of thousands would itself cause losses
constexpr auto kSilence = std::chrono::seconds(2), kProgressInterval = std::chrono::seconds(5);

struct Chosen {
  mrc_ctl_ev ev;
  uint32_t number;  // among the EVs of its port, from 0
  size_t peer = 0;
  uint32_t received = 0;
  uint32_t lost_run = 0;  // in a row, to the last
  uint32_t rtt = 0;       // minimum, ns
};

// Omitted parts mean any; so does the port 0 of an EV whose label alone identifies the path.
bool is_ev(const mrc_ctl_ev& ev, mrc_ctl_ev_fmt_mode format, const mrc::ctl::DenyRule& wanted) {
  const auto high = static_cast<uint16_t>(ev.val[0] << 8 | ev.val[1]);
  const auto low = static_cast<uint16_t>(ev.val[2] << 8 | ev.val[3]);
  if (format == MRC_CTL_EV_FMT_MODE_UDP) return wanted.label == 0 && wanted.port == high;
  return (wanted.label == 0 || wanted.label == high) && (wanted.port == 0 || low == 0 || wanted.port == low);
}

std::vector<Chosen> chosen_evs(const Device& device, const ProbeOptions& options) {
  mrc::ctl::DenyRule wanted;  // the words for an EV are the same as those of `ev deny`
  if (!options.ev.empty()) {
    auto parsed = mrc::ctl::parse_deny({{"plane", 1}, {"ev", options.ev}});
    if (!parsed) throw Error(parsed.error().text);
    wanted = *std::move(parsed);
  }
  std::vector<Chosen> chosen;
  std::map<uint8_t, uint32_t> seen, taken;
  for (const mrc_ctl_ev& ev : device.evs()) {
    const uint32_t number = seen[ev.port]++;
    if (!options.ports.empty() && std::find(options.ports.begin(), options.ports.end(), ev.port) == options.ports.end())
      continue;
    if (!options.ev.empty() && !is_ev(ev, device.ev_format(), wanted)) continue;
    if (options.max_evs != 0 && taken[ev.port] == options.max_evs) continue;
    ++taken[ev.port];
    chosen.push_back({ev, number});
  }
  if (chosen.empty()) throw Error("the device has no such EV on these ports");
  return chosen;
}

// Shows the progress on stderr after a while; the standard output is for the result.
class Progress {
 public:
  void round_done(const std::string& host, uint32_t rounds, uint32_t of, size_t dead, size_t paths) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + kProgressInterval;
    std::fprintf(stderr, "mrcctl: %s has sent %u of %u probes over each path; %zu of %zu paths are dead\n",
                 host.c_str(), rounds, of, dead, paths);
  }

 private:
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kSilence;
};

// Rounds of one probe over each path to each peer. A round waits for its slowest path, and for a failed one the whole
// time; so all peers share the rounds, and a path that loses as many in a row as mrcd's judge requires
// (judge.h) is probed no more: what is left of its probes counts as lost.
class Rounds {
 public:
  Rounds(const Device& device, const ProbeOptions& options, const std::vector<union ibv_gid>& peers)
      : device_(device), options_(options), peers_(peers) {
    const std::vector<Chosen> evs = chosen_evs(device, options);
    for (size_t peer = 0; peer < peers.size(); ++peer)
      for (Chosen ev : evs) {
        ev.peer = peer;
        paths_.push_back(ev);
      }
  }

  // Paths of one peer after the other.
  std::vector<Chosen> run() {
    std::vector<Chosen*> open;
    for (Chosen& path : paths_) open.push_back(&path);
    const std::string host = gid_text(device_.gid(0));
    Progress progress;
    for (uint32_t n = 0; n < options_.count && !open.empty(); ++n) {
      // Paths that may have failed together, so that few batches wait in vain.
      std::stable_partition(open.begin(), open.end(), [](const Chosen* p) { return p->lost_run != 0; });
      for (size_t at = 0; at < open.size(); at += kBatch) batch(&open[at], std::min(kBatch, open.size() - at));
      std::erase_if(open, [](const Chosen* p) { return p->lost_run >= mrc::mrcd::JudgeConfig().dead; });
      progress.round_done(host, n + 1, options_.count, paths_.size() - open.size(), paths_.size());
    }
    return std::move(paths_);
  }

 private:
  void batch(Chosen** paths, size_t count) {
    std::vector<mrc_ctl_ep_req> requests(count);
    std::vector<mrc_ctl_ep_rsp> responses(count);
    for (size_t i = 0; i < count; ++i) {
      mrc_ctl_ep_req& request = requests[i];
      std::memset(&request, 0, sizeof request);
      request.req_id = static_cast<uint16_t>(i);
      request.dgid = peers_[paths[i]->peer];
      request.ev_fmt_mode = device_.ev_format();
      request.req_ev = paths[i]->ev;
    }
    int answered = 0;
    if (mrc_ctl_ep_batch_send_wait(device_.context(), 0, MRC_CTL_EP_OP_EV_PROBE, requests.data(),
                                   static_cast<int>(count), options_.timeout_ms * kNsPerMs, responses.data(),
                                   &answered) != 0 &&
        errno != ETIMEDOUT)
      throw_unsendable(paths, count, errno);
    for (size_t i = 0; i < count; ++i) ++paths[i]->lost_run;
    for (int i = 0; i < answered; ++i) {
      const mrc_ctl_ep_rsp& response = responses[static_cast<size_t>(i)];
      Chosen& path = *paths[response.req_id];
      path.rtt = path.received++ == 0 ? response.rtt : std::min(path.rtt, response.rtt);
      path.lost_run = 0;
    }
  }

  // One request that cannot be sent spoils its batch.
  [[noreturn]] void throw_unsendable(Chosen** paths, size_t count, int error) {
    if (count > 1) {
      batch(paths, count / 2);
      batch(paths + count / 2, count - count / 2);
    }
    throw Error("cannot probe " + options_.peers[paths[0]->peer] + ": " + std::strerror(error));
  }

  const Device& device_;
  const ProbeOptions& options_;
  const std::vector<union ibv_gid>& peers_;
  std::vector<Chosen> paths_;
};

// A path that lost more than the share is bad.
bool is_bad(uint32_t sent, uint32_t received, double loss) {
  return received == 0 || static_cast<double>(sent - received) > loss * sent;
}

OrderedJson describe(size_t peer, const union ibv_gid& gid, const std::vector<Chosen>& evs, mrc_ctl_ev_fmt_mode format,
                     const Paths& paths, const ProbeOptions& options) {
  OrderedJson j{{"peer", options.peers[peer]}, {"paths", OrderedJson::array()}};
  size_t silent = 0, bad = 0;
  for (const Chosen& ev : evs) {
    if (ev.peer != peer) continue;
    const PathNames names = paths.names(ev.ev.port, ev.number, gid);
    OrderedJson path{{"port", ev.ev.port},          {"ev", ev_text(ev.ev, format)},
                     {"answered", ev.received > 0}, {"sent", options.count},
                     {"received", ev.received},     {"bad", is_bad(options.count, ev.received, options.loss)}};
    if (ev.received > 0) path["rtt_ns"] = ev.rtt;
    if (!names.t1.empty()) path["t1"] = names.t1;
    if (!names.far_t0.empty()) path["far_t0"] = names.far_t0;
    silent += ev.received == 0;
    bad += path["bad"].get<bool>();
    j["paths"].push_back(std::move(path));
  }
  j["silent"] = silent;
  j["bad"] = bad;
  return j;
}

// Over this host's own switches and back; requires no peer.
OrderedJson probe_loops(const Paths& paths, const ProbeOptions& options) {
  OrderedJson all = OrderedJson::array();
  const auto configured = mrc::mrcd::loop_paths(paths.config());
  if (!configured || configured->empty()) return all;
  const std::vector<mrc::mrcd::LoopPath>& loops = *configured;
  mrc::mrcd::LoopProber prober;
  if (const mrc::Status opened = prober.open(paths.config(), loops); !opened) throw Error(opened.error().text);
  std::vector<uint32_t> received(loops.size());
  const auto collect = [&] {
    prober.collect([&](const mrc::mrcd::LoopProber::Outcome& outcome) { received[outcome.path] += outcome.answered; });
  };
  for (uint32_t n = 0; n < options.count; ++n) {
    for (size_t i = 0; i < loops.size(); ++i) prober.send(i);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    collect();
  }
  while (prober.open_probes() != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    collect();
  }
  for (size_t i = 0; i < loops.size(); ++i)
    all.push_back({{"port", loops[i].plane},
                   {"t0", mrc::mrcd::usid_text(loops[i].t0)},
                   {"t1", loops[i].t1 != 0 ? mrc::mrcd::usid_text(loops[i].t1) : ""},
                   {"sent", options.count},
                   {"received", received[i]},
                   {"bad", is_bad(options.count, received[i], options.loss)}});
  return all;
}

// One line per port: the number of paths that answered, and their round trips; then the paths that did not.
void print(const OrderedJson& peer) {
  std::printf("%s\n", peer["peer"].get<std::string>().c_str());
  std::map<int, std::vector<double>> rtt;
  std::map<int, std::vector<std::string>> bad;
  std::map<int, size_t> all;
  for (const OrderedJson& path : peer["paths"]) {
    const int port = path["port"].get<int>();
    ++all[port];
    if (path["answered"]) rtt[port].push_back(path["rtt_ns"].get<double>() / 1000);
    if (path["bad"])
      bad[port].push_back(
          path["ev"].get<std::string>() + (path.contains("t1") ? " over T1 " + path["t1"].get<std::string>() : "") +
          (path["answered"] ? ": " + path["received"].dump() + " of " + path["sent"].dump() + " came back" : ""));
  }
  for (const auto& [port, count] : all) {
    std::vector<double>& times = rtt[port];
    std::sort(times.begin(), times.end());
    std::printf("  port %2d: %zu of %zu paths answer", port, times.size(), count);
    if (!times.empty())
      std::printf(", round trip %.1f / %.1f / %.1f us (minimum, median, maximum)", times.front(),
                  times[times.size() / 2], times.back());
    std::printf("\n");
    for (const std::string& ev : bad[port]) std::printf("    bad: EV %s\n", ev.c_str());
  }
}

void print_loops(const OrderedJson& loops) {
  for (const OrderedJson& loop : loops)
    std::printf("  port %s: T0 %s%s and back: %s of %s probes\n", loop["port"].dump().c_str(),
                loop["t0"].get<std::string>().c_str(),
                loop["t1"] == "" ? "" : (", T1 " + loop["t1"].get<std::string>()).c_str(),
                loop["received"].dump().c_str(), loop["sent"].dump().c_str());
}

}  // namespace

int probe(const ProbeOptions& options) {
  std::vector<union ibv_gid> gids;
  for (const std::string& peer : options.peers) gids.push_back(parse_gid(peer));
  const Paths paths(options.device);
  const Device device(options.device);
  const std::vector<Chosen> probed = Rounds(device, options, gids).run();
  OrderedJson peers = OrderedJson::array();
  size_t silent = 0, bad = 0;
  for (size_t i = 0; i < gids.size(); ++i) {
    peers.push_back(describe(i, gids[i], probed, device.ev_format(), paths, options));
    silent += peers.back()["silent"].get<size_t>();
    bad += peers.back()["bad"].get<size_t>();
  }
  OrderedJson all{{"host", gid_text(device.gid(0))}, {"peers", peers}, {"silent", silent}, {"bad", bad}};
  if (options.loops) {
    all["loops"] = probe_loops(paths, options);
    for (const OrderedJson& loop : all["loops"]) bad += loop["bad"].get<bool>();
  }
  if (options.json) {
    std::cout << all.dump(2) << "\n";
  } else {
    for (const OrderedJson& peer : peers) print(peer);
    if (options.loops) print_loops(all["loops"]);
  }
  return bad == 0 ? kGood : kDiffers;
}

int respond(const std::string& name) {
  const Device device(name);
  std::printf("ready\n");
  std::fflush(stdout);
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
  }
  return kGood;
}

}  // namespace mrcctl
