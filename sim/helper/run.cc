#include "sim/helper/run.h"

#include <algorithm>
#include <chrono>

#include "sim/helper/summary.h"

namespace mrc::sim {
namespace {

using Clock = std::chrono::steady_clock;

class Runner final : public Listener {
 public:
  Runner(const ScenarioSpec& scenario, const RunOptions& options)
      : scenario_(scenario),
        options_(options),
        graph_(build_graph(scenario)),
        net_(scenario.fabric, scenario.transport, scenario.seed, options.tracer),
        faults_(scenario, &net_),
        sampler_(&net_, scenario.measure.interval, receivers_by_job(graph_, scenario.workloads.size())),
        parts_(scenario.transport.qps) {}

  RunResult run() {
    for (uint32_t n = 0; n < net_.spec().nics(); ++n) net_.nic(n).set_listener(this);
    for (size_t i = 0; i < graph_.ops.size(); ++i)
      if (i == 0 || graph_.ops[i].job != graph_.ops[i - 1].job || i % 97 == 0)
        sampler_.watch(graph_.ops[i].src, graph_.ops[i].dst);
    faults_.schedule();
    sampler_.start();
    for (uint32_t job = 0; job < scenario_.workloads.size(); ++job)
      if (const Ps at = scenario_.workloads[job].connect; at >= 0) schedule_in(at, [this, job] { connect(job); });
    for (uint32_t i = 0; i < graph_.ops.size(); ++i)
      if (graph_.ops[i].waits == 0) begin_at(i, graph_.ops[i].start);
    for (const Window& w : scenario_.measure.windows) {
      windows_.push_back({w, {}, {}});
      const size_t k = windows_.size() - 1;
      schedule_in(w.from, [this, k] { windows_[k].begin = snapshot(net_); });
      schedule_in(w.to, [this, k] {
        windows_[k].end = snapshot(net_);
        ++windows_closed_;
        stop_when_done();
      });
    }
    if (options_.progress) progress_event_.schedule_in(kProgressEvery);
    stop_simulator_in(scenario_.limit);
    const Clock::time_point begin = Clock::now();
    run_simulator();
    RunResult r;
    r.wall_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    r.events = simulator_events();
    const Ps end = now_ps();
    const auto failed =
        std::count_if(graph_.ops.begin(), graph_.ops.end(), [](const Op& op) { return op.progress.failed; });
    r.summary = summarise(scenario_, net_, graph_, windows_, end, done_ == graph_.ops.size(),
                          graph_.ops.size() - done_ + static_cast<size_t>(failed));
    for (const FaultSpec& f : scenario_.faults) {
      const FaultTally& t = faults_.tally(f.kind);
      Json& j = r.summary["faults"][fault_kind_name(f.kind)];
      j = {{"times", t.times}, {"links", t.links.size()}, {"switches", t.switches.size()}};
      if (t.links.size() + t.switches.size() == 1) j["only"] = t.links.empty() ? *t.switches.begin() : *t.links.begin();
    }
    r.links = link_records(net_);
    for (const Link& l : net_.links()) r.packets += l.kind == Link::Kind::kNic ? l.up->counters().tx_packets : 0;
    destroy_simulator();
    r.rows = sampler_.rows();
    r.ev_map = sampler_.ev_map();
    r.marks = faults_.marks();
    r.graph = std::move(graph_);
    return r;
  }

 private:
  static constexpr Ps kProgressEvery = 10 * kPsPerUs;

  void begin_at(uint32_t op, Ps when) {
    if (when <= now_ps() && started_) {
      post(op);
    } else {
      schedule_in(std::max<Ps>(0, when - now_ps()), [this, op] {
        started_ = true;
        post(op);
      });
    }
  }

  // The QPs that a job's messages will use.
  void connect(uint32_t job) {
    for (const Op& op : graph_.ops)
      for (uint32_t k = 0; op.job == job && k < parts_of(op); ++k) net_.nic(op.src).connect(op.dst, k);
  }

  // One message per QP, as NCCL splits its buffers; small ones are not split.
  uint32_t parts_of(const Op& op) const {
    const uint64_t packets = (op.bytes + scenario_.fabric.mtu - 1) / scenario_.fabric.mtu;
    return static_cast<uint32_t>(std::clamp<uint64_t>(packets, 1, parts_));
  }

  void post(uint32_t index) {
    Op& op = graph_.ops[index];
    if (op.progress.posted < 0) op.progress.posted = now_ps();
    const uint32_t parts = parts_of(op);
    op.progress.parts_to_send = op.progress.parts_to_receive = parts;
    uint64_t left = op.bytes;
    for (uint32_t k = 0; k < parts; ++k) {
      const uint64_t piece = left / (parts - k);
      left -= piece;
      net_.nic(op.src).send({index * parts_ + k, op.src, op.dst, k, piece});
    }
  }

  void on_sent(uint32_t id) override {
    const uint32_t index = id / parts_;
    Op& op = graph_.ops[index];
    if (--op.progress.parts_to_send != 0) return;
    op.progress.sent = now_ps();
    if (++op.progress.repeats == 1) release(op, true);
    if (now_ps() < op.until && op.progress.parts_to_receive == 0) {
      post(index);
      return;
    }
    if (op.progress.parts_to_receive == 0) finish(index);
  }

  void on_received(uint32_t id) override {
    const uint32_t index = id / parts_;
    Op& op = graph_.ops[index];
    if (--op.progress.parts_to_receive != 0) return;
    op.progress.received = now_ps();
    if (op.progress.repeats == 0 || op.until == 0) release(op, false);
    if (op.progress.parts_to_send == 0) finish(index);
  }

  // What waits for this operation until it has been sent, or received.
  void release(const Op& op, bool sent) {
    for (uint32_t i = 0; i < op.next_count; ++i) {
      const Successor& next = graph_.next[op.first_next + i];
      if (next.when_sent == sent && --graph_.ops[next.op].waits == 0) begin_at(next.op, graph_.ops[next.op].start);
    }
  }

  void on_failed(uint32_t id) override {
    Op& op = graph_.ops[id / parts_];
    if (op.progress.failed) return;
    op.progress.failed = true;
    finish(id / parts_);
  }

  void finish(uint32_t) {
    ++done_;
    stop_when_done();
  }

  void stop_when_done() {
    if (done_ == graph_.ops.size() && windows_closed_ == windows_.size()) stop_simulator();
  }

  void progress() {
    const Clock::time_point now = Clock::now();
    if (now - last_progress_ > std::chrono::milliseconds(300)) {
      last_progress_ = now;
      const double by_ops = static_cast<double>(done_) / static_cast<double>(graph_.ops.size());
      options_.progress(now_ps(), simulator_events(), by_ops);
    }
    progress_event_.schedule_in(kProgressEvery);
  }

  const ScenarioSpec& scenario_;
  const RunOptions& options_;
  Graph graph_;
  Network net_;
  FaultDriver faults_;
  Sampler sampler_;
  const uint32_t parts_;
  std::vector<WindowSnapshots> windows_;
  size_t windows_closed_ = 0;
  size_t done_ = 0;
  bool started_ = false;
  Clock::time_point last_progress_ = Clock::now();
  Recurring<Runner, &Runner::progress> progress_event_{this};
};

}  // namespace

RunResult run_scenario(const ScenarioSpec& scenario, const RunOptions& options) {
  prepare_simulator();
  Runner runner(scenario, options);
  return runner.run();
}

}  // namespace mrc::sim
