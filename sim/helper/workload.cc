#include "sim/helper/workload.h"

#include <algorithm>
#include <cmath>

#include "sim/helper/trace_reader.h"

namespace mrc::sim {
namespace {

class Builder {
 public:
  Builder(const ScenarioSpec& scenario, uint32_t job, Graph* graph, std::vector<std::pair<uint32_t, Successor>>* edges)
      : s_(scenario),
        w_(scenario.workloads[job]),
        job_(job),
        graph_(*graph),
        edges_(*edges),
        rng_(scenario.seed * 104729 + job + 1) {
    ranks_ = w_.nics;
    if (ranks_.empty())
      for (uint32_t i = 0; i < scenario.fabric.nics(); ++i) ranks_.push_back(i);
    if (w_.shuffle) shuffle(&ranks_);
  }

  void build() {
    switch (w_.kind) {
      case WorkloadKind::kFlow:
        pipe(w_.src, w_.dst);
        if (w_.both_ways) pipe(w_.dst, w_.src);
        break;
      case WorkloadKind::kPermutation:
        permutation();
        break;
      case WorkloadKind::kIncast:
        incast();
        break;
      case WorkloadKind::kAllToAll:
        for (round_ = 0; round_ < w_.rounds; ++round_) all_to_all();
        break;
      case WorkloadKind::kRingAllReduce:
        ring(2 * (size() - 1));
        break;
      case WorkloadKind::kAllGather:
      case WorkloadKind::kReduceScatter:
        ring(size() - 1);
        break;
      case WorkloadKind::kTreeAllReduce:
        for (round_ = 0; round_ < w_.rounds; ++round_) tree();
        break;
      case WorkloadKind::kSendRecv:
        send_recv();
        break;
      case WorkloadKind::kRandom:
        random();
        break;
      case WorkloadKind::kTrace:
        trace();
        break;
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t size() const { return static_cast<uint32_t>(ranks_.size()); }

  void shuffle(std::vector<uint32_t>* v) {
    for (uint32_t i = static_cast<uint32_t>(v->size()); i > 1; --i) std::swap((*v)[i - 1], (*v)[rng_.below(i)]);
  }

  uint32_t add(uint32_t src, uint32_t dst, uint64_t bytes, Ps start) {
    Op op;
    op.src = src;
    op.dst = dst;
    op.bytes = bytes;
    op.start = start;
    op.until = w_.until;
    op.job = job_;
    graph_.ops.push_back(op);
    return static_cast<uint32_t>(graph_.ops.size() - 1);
  }

  void after(uint32_t before, uint32_t op, bool when_sent = false) {
    if (before == kNone) return;
    edges_.push_back({before, {op, when_sent}});
    ++graph_.ops[op].waits;
  }

  // `depth` messages side by side; with `until`, each is sent again when it is done.
  void pipe(uint32_t src, uint32_t dst) {
    for (uint32_t i = 0; i < w_.depth; ++i) add(src, dst, w_.bytes, w_.start);
  }

  void permutation() {
    const uint32_t n = size();
    std::vector<uint32_t> to(n);
    for (uint32_t i = 0; i < n; ++i) to[i] = (i + w_.shift) % n;
    if (w_.shift == 0) {
      // A cyclic permutation (Sattolo): no rank sends to itself.
      for (uint32_t i = n - 1; i > 0; --i) std::swap(to[i], to[rng_.below(i)]);
    }
    for (uint32_t i = 0; i < n; ++i) pipe(ranks_[i], ranks_[to[i]]);
  }

  void incast() {
    uint32_t used = 0;
    for (uint32_t i = 0; i < size() && used < w_.senders; ++i) {
      if (ranks_[i] == w_.dst) continue;
      pipe(ranks_[i], w_.dst);
      ++used;
    }
  }

  void all_to_all() {
    const uint32_t n = size();
    std::vector<uint32_t> now;
    for (uint32_t step = 1; step < n; ++step)
      for (uint32_t r = 0; r < n; ++r) {
        const uint32_t op = add(ranks_[r], ranks_[(r + step) % n], w_.bytes, w_.start);
        // A round begins at a rank when its part of the round before has arrived.
        if (round_ > 0) after(previous_[(step - 1) * n + (r + n - step) % n], op);
        now.push_back(op);
      }
    previous_ = now;
  }

  // Step k of rank r sends what it received in step k - 1; it may begin when the sender of that is done.
  void ring(uint32_t steps) {
    const uint32_t n = size();
    std::vector<uint32_t> last(n, kNone), now(n);
    const uint64_t chunk = std::max<uint64_t>(1, w_.bytes / n);
    for (uint32_t round = 0; round < w_.rounds; ++round)
      for (uint32_t k = 0; k < steps; ++k) {
        for (uint32_t r = 0; r < n; ++r) {
          now[r] = add(ranks_[r], ranks_[(r + 1) % n], chunk, w_.start);
          after(last[(r + n - 1) % n], now[r], w_.next_when_sent);
        }
        last = now;
      }
  }

  void tree() {
    const uint32_t n = size();
    std::vector<uint32_t> up(n, kNone);
    for (uint32_t r = n - 1; r > 0; --r) {
      up[r] = add(ranks_[r], ranks_[(r - 1) / 2], w_.bytes, w_.start);
      for (const uint32_t child : {2 * r + 1, 2 * r + 2})
        if (child < n) after(up[child], up[r]);
      if (round_ > 0) after(previous_[r], up[r]);
    }
    std::vector<uint32_t> down(n, kNone);
    for (uint32_t r = 1; r < n; ++r) {
      const uint32_t parent = (r - 1) / 2;
      down[r] = add(ranks_[parent], ranks_[r], w_.bytes, w_.start);
      if (parent == 0) {
        for (const uint32_t child : {1u, 2u})
          if (child < n) after(up[child], down[r]);
      } else {
        after(down[parent], down[r]);
      }
    }
    previous_ = down;
  }

  void send_recv() {
    const uint32_t n = size(), shift = w_.shift == 0 ? 1 : w_.shift;
    for (uint32_t r = 0; r < n; ++r) {
      const uint32_t peer = ranks_[(r + shift) % n];
      // `rounds` chunks in all, each waiting for the one `depth` before it.
      std::vector<uint32_t> sent;
      for (uint32_t k = 0; k < std::max(w_.rounds, w_.depth); ++k) {
        const uint32_t op = add(ranks_[r], peer, w_.bytes, w_.start);
        if (k >= w_.depth) after(sent[k - w_.depth], op);
        sent.push_back(op);
      }
    }
  }

  void random() {
    const double bytes_per_ps = w_.load * s_.fabric.line_rate() / 8 / kPsPerSecond * size();
    const double mean_gap = static_cast<double>(w_.bytes) / bytes_per_ps;
    double t = static_cast<double>(w_.start);
    const double end = t + static_cast<double>(w_.duration);
    for (;;) {
      t += -std::log(1 - rng_.unit()) * mean_gap;
      if (t >= end) return;
      const uint32_t a = rng_.below(size());
      uint32_t b = rng_.below(size() - 1);
      if (b >= a) ++b;
      // Exponential sizes: many small, few large.
      const auto bytes = static_cast<uint64_t>(-std::log(1 - rng_.unit()) * static_cast<double>(w_.bytes)) + 1;
      add(ranks_[a], ranks_[b], bytes, static_cast<Ps>(t));
    }
  }

  void trace() {
    const auto first = static_cast<uint32_t>(graph_.ops.size());
    for (const TraceMessage& m : read_trace(w_.file, s_.fabric.nics(), w_.next_when_sent)) {
      const uint32_t op = add(m.src, m.dst, m.bytes, w_.start + m.at);
      for (const Successor& before : m.after) after(first + before.op, op, before.when_sent);
    }
  }

  const ScenarioSpec& s_;
  const WorkloadSpec& w_;
  const uint32_t job_;
  Graph& graph_;
  std::vector<std::pair<uint32_t, Successor>>& edges_;
  Rng rng_;
  std::vector<uint32_t> ranks_, previous_;
  uint32_t round_ = 0;
};

}  // namespace

std::vector<std::set<uint32_t>> receivers_by_job(const Graph& graph, size_t jobs) {
  std::vector<std::set<uint32_t>> receivers(jobs);
  for (const Op& op : graph.ops) receivers[op.job].insert(op.dst);
  return receivers;
}

Graph build_graph(const ScenarioSpec& scenario) {
  Graph g;
  std::vector<std::pair<uint32_t, Successor>> edges;
  for (uint32_t job = 0; job < scenario.workloads.size(); ++job) {
    const size_t before = g.ops.size();
    Builder(scenario, job, &g, &edges).build();
    const WorkloadSpec& w = scenario.workloads[job];
    if (g.ops.size() == before)  // a report about nothing would look like a result
      throw ConfigError((w.file.empty() ? "" : w.file + ": ") + "workload '" + w.name + "' sends no message");
  }
  std::stable_sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  g.next.reserve(edges.size());
  for (const auto& [from, to] : edges) {
    Op& op = g.ops[from];
    if (op.next_count++ == 0) op.first_next = static_cast<uint32_t>(g.next.size());
    g.next.push_back(to);
  }
  return g;
}

}  // namespace mrc::sim
