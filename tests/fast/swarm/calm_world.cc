// One seed of the swarm in which nothing is lost: planes of unequal delay and rate, at times one of them with a queue
// that takes longer than anything else, and hosts that do not run at times and then read their planes one after the
// other. Whatever looks late, it has arrived or will: of many worlds hardly one may retire a path, and next to nothing
// may be sent again [MRC-LOSS-1, MRC-EVS-17].
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "core/sack_report.h"
#include "harness/fabric.h"
#include "swarm/swarm_world.h"

namespace mrc::swarm {

using namespace core;
using harness::Fabric;
using harness::FabricConfig;
using harness::Link;

namespace {

constexpr uint32_t kDepth = 8;

// One direction of a connection: as many writes under way as its depth.
struct SteadyStream {
  int from = 0;
  Qp* qp = nullptr;
  Qpn qpn;
  Key lkey, rkey;
  uint32_t posted = 0, done = 0;
};

class CalmWorld {
 public:
  explicit CalmWorld(uint64_t seed) : rng_(seed ^ 0xCA1A) {}
  Outcome run();

 private:
  void build();
  void draw_pauses();
  void post(SteadyStream* s);
  uint64_t sum(uint64_t Counters::*counter) {
    uint64_t all = 0;
    for (int n = 0; n < fabric_->config().nodes; ++n) all += fabric_->at(n).counters().*counter;
    return all;
  }

  Rng rng_;
  Outcome outcome_;
  std::unique_ptr<Fabric> fabric_;
  std::vector<uint8_t> source_, target_;
  std::vector<SteadyStream> streams_;
  uint32_t bytes_ = 0, pauses_ = 0;
  bool slow_ = false;  // one plane
  Instant end_;
};

void CalmWorld::build() {
  FabricConfig f;
  f.seed = rng_.next();
  f.nodes = 2 + static_cast<int>(rng_.below(2));
  f.planes = 1 + static_cast<int>(rng_.below(8));
  f.evs_per_plane = 1 + static_cast<int>(rng_.below(20));
  f.endpoint.max_segments = rng_.chance(0.5) ? 1 : 16;
  fabric_ = std::make_unique<Fabric>(f);
  simnet::SimNet& net = fabric_->net();
  for (int p = 0; p < f.planes; ++p) {
    simnet::LinkConfig& l = net.link(p);
    l.latency = Duration::microseconds(1 + rng_.below(rng_.chance(0.3) ? 60 : 20));
    l.rate_bps = 1e9 * (5 + rng_.below(20));
    l.queue_bytes = 1u << 30;
  }
  slow_ = rng_.chance(0.3);
  if (slow_)
    net.link(static_cast<int>(rng_.below(static_cast<uint32_t>(f.planes)))).rate_bps = 1e8 * (1 + rng_.below(10));
  net.set_coalescing(rng_.chance(0.5));
  bytes_ = 1024u << rng_.below(8);
  source_.assign(bytes_, 0x5A);
  target_.assign(bytes_, 0);
  QpAttr attr;
  attr.path_mtu = rng_.chance(0.5) ? 4096 : 1024;
  attr.timeout = 14;
  const uint32_t connections = 1 + rng_.below(4);
  for (uint32_t i = 0; i < connections; ++i) {
    const int a = static_cast<int>(rng_.below(static_cast<uint32_t>(f.nodes)));
    const int b = (a + 1) % f.nodes;
    const Link link = fabric_->connect(a, b, attr);
    const auto stream = [&](int from, int to, Qp* qp) {
      streams_.push_back({from, qp, fabric_->at(from).qp_status(qp).qpn,
                          fabric_->register_memory(from, source_, kAccessLocalWrite),
                          fabric_->register_memory(to, target_), 0, 0});
    };
    stream(a, b, link.qa);
    if (rng_.chance(0.3)) stream(b, a, link.qb);
  }
  for (int n = 0; n < f.nodes; ++n)
    fabric_->node(n).on_done = [this, n](const Completion& c) {
      for (SteadyStream& s : streams_)
        if (s.from == n && s.qpn == c.qpn) s.done += c.slots;
      if (c.status == WcStatus::kSuccess || !outcome_.ok) return true;
      outcome_.ok = false;
      outcome_.failure = "completion with status " + std::to_string(static_cast<int>(c.status));
      return true;
    };
}

void CalmWorld::draw_pauses() {
  end_ = fabric_->now() + Duration::milliseconds(20 + rng_.below(60));
  const int64_t planes = fabric_->config().planes;
  const uint32_t longest_us = std::array{1500u, 6000u, 90000u}[rng_.below(3)];  // the last: beyond the packet timeout
  for (int n = 0; n < fabric_->config().nodes; ++n) {
    if (rng_.chance(0.2)) continue;
    Instant from = fabric_->now();
    while (true) {
      from = from + Duration::microseconds(500 + rng_.below(10000));
      if (from >= end_) break;
      const uint32_t length_us = 1 + rng_.below(longest_us);
      const Instant to = from + Duration::microseconds(length_us);
      // It reads at least twice as fast as packets come.
      const uint32_t all_planes_us = 1 + rng_.below(1 + std::min(length_us / 2, 300u));
      fabric_->add_pause({n, from, to, Duration::microseconds(all_planes_us) / planes});
      ++pauses_;
      from = to;
    }
  }
}

void CalmWorld::post(SteadyStream* s) {
  while (s->posted - s->done < kDepth) {
    if (fabric_->write(s->from, s->qp, s->posted, source_.data(), bytes_, s->lkey, target_.data(), s->rkey) !=
        PostResult::kOk)
      return;
    ++s->posted;
  }
}

Outcome CalmWorld::run() {
  build();
  draw_pauses();
  while (outcome_.ok && fabric_->now() < end_) {
    for (SteadyStream& s : streams_) post(&s);
    if (!fabric_->step()) break;
  }
  const auto all_done = [this] {
    return std::all_of(streams_.begin(), streams_.end(), [](const SteadyStream& s) { return s.done == s.posted; });
  };
  if (outcome_.ok && !fabric_->run_until(all_done, Duration::seconds(1))) {
    outcome_.ok = false;
    outcome_.failure = "not finished a second after the last request";
  }
  // Nothing is lost, so that every copy is a duplicate, and its sender is told of all, or of those that a QP can name
  // when it runs again after a pause. [MRC-CNT-3]
  const auto told = [this] {
    const uint64_t again = sum(&Counters::retransmits), needless = sum(&Counters::spurious_retransmits);
    constexpr uint64_t kNamed = DuplicateArrivals::kMax;
    return sum(&Counters::rx_duplicates) == again && (needless == again || (again > kNamed && needless >= kNamed));
  };
  if (outcome_.ok && !told() && !fabric_->run_until(told, Duration::seconds(1))) {
    outcome_.ok = false;
    outcome_.failure = std::to_string(sum(&Counters::retransmits)) + " packets sent again, " +
                       std::to_string(sum(&Counters::spurious_retransmits)) + " known to be needless, " +
                       std::to_string(sum(&Counters::rx_duplicates)) + " arrived again";
  }
  outcome_.packets = sum(&Counters::tx_data);
  outcome_.again = sum(&Counters::retransmits);
  const uint64_t planes_left = sum(&Counters::plane_suspensions) + sum(&Counters::plane_lossy);
  outcome_.retired = sum(&Counters::ev_assumed_bad) + planes_left > 0;
  const FabricConfig& f = fabric_->config();
  char text[256];
  std::snprintf(
      text, sizeof text,
      "calm, nodes %d planes %d%s evs %d streams %zu bytes %u pauses %u; packets %llu sent again %llu timeouts "
      "%llu retired %llu planes left %llu",
      f.nodes, f.planes, slow_ ? " (one slow)" : "", f.evs_per_plane, streams_.size(), bytes_, pauses_,
      static_cast<unsigned long long>(outcome_.packets), static_cast<unsigned long long>(outcome_.again),
      static_cast<unsigned long long>(sum(&Counters::timeouts)),
      static_cast<unsigned long long>(sum(&Counters::ev_assumed_bad)), static_cast<unsigned long long>(planes_left));
  outcome_.summary = text;
  return outcome_;
}

}  // namespace

Outcome run_calm_world(uint64_t seed) {
  return CalmWorld(seed).run();
}

}  // namespace mrc::swarm
