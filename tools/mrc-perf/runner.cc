#include "runner.h"

#include <optional>

#include "datagram_latency.h"
#include "datagram_transfer.h"
#include "datagrams.h"
#include "latency.h"
#include "transfer.h"
#include "workers.h"

namespace mrc::perf {

namespace {

nlohmann::json to_json(const TransferResult& r, bool datagrams) {
  nlohmann::json j{{"sent", r.sent},
                   {"seconds", r.send_s},
                   {"cpu_s", r.cpu_s},
                   {"received", r.received},
                   {"checked", r.checked},
                   {"mismatches", r.mismatches},
                   {"first_mismatch", r.first_mismatch}};
  if (datagrams) j["receive_s"] = r.receive_s;
  return j;
}

nlohmann::json to_json(const LatencyResult& r, bool datagrams) {
  nlohmann::json j{{"samples", r.samples}, {"min_us", r.min_us},   {"p50_us", r.p50_us}, {"p90_us", r.p90_us},
                   {"p99_us", r.p99_us},   {"p999_us", r.p999_us}, {"max_us", r.max_us}, {"mean_us", r.mean_us},
                   {"seconds", r.seconds}, {"cpu_s", r.cpu_s}};
  if (datagrams) j.update({{"sent", r.sent}, {"received", r.received}, {"repeated", r.repeated}});
  return j;
}

class TransferRunner final : public Runner {
 public:
  explicit TransferRunner(const RunnerSetup& s) : s_(s), workers_(s.share, s.plan, s.device, s.channels) {}
  uint32_t mtu() const override { return workers_.connection().mtu(); }
  mrc_qp* first_qp() const override { return workers_.connection().qps()[0]; }
  void start(Monitor& monitor) override { workers_.start(s_.pattern, s_.source, monitor, !s_.options.is_server()); }
  nlohmann::json run(double seconds) override { return to_json(workers_.run(seconds), false); }
  nlohmann::json so_far() const override { return to_json(workers_.so_far(), false); }

 private:
  const RunnerSetup s_;
  Workers workers_;
};

class LatencyRunner final : public Runner {
 public:
  explicit LatencyRunner(const RunnerSetup& s)
      : workers_(s.share, s.plan, s.device, s.channels),
        latency_({s.options, s.plan, workers_.connection(), s.source, workers_.buffer(), *s.channels[0],
                  !s.options.is_server()}) {}
  uint32_t mtu() const override { return workers_.connection().mtu(); }
  mrc_qp* first_qp() const override { return workers_.connection().qps()[0]; }
  void start(Monitor&) override { latency_.post_first_receives(); }
  nlohmann::json run(double seconds) override { return to_json(latency_.run(seconds), false); }
  nlohmann::json so_far() const override { return to_json(latency_.so_far(), false); }

 private:
  Workers workers_;
  Latency latency_;
};

class DatagramRunner final : public Runner {
 public:
  explicit DatagramRunner(const RunnerSetup& s) : s_(s), datagrams_(s.options, s.device, s.plan) {
    datagrams_.create_qps();
    datagrams_.connect(*s.channels[0]);
  }
  uint32_t mtu() const override { return datagrams_.mtu(); }
  void start(Monitor& monitor) override {
    datagrams_.post_receives();
    const DatagramSetup setup{s_.options, s_.plan, datagrams_, s_.source, *s_.channels[0], !s_.options.is_server()};
    if (s_.options.test == Test::kLatency)
      latency_.emplace(setup);
    else
      transfer_.emplace(setup, s_.pattern, monitor);
  }
  nlohmann::json run(double seconds) override {
    return latency_ ? to_json(latency_->run(seconds), true) : to_json(transfer_->run(seconds), true);
  }
  nlohmann::json so_far() const override {
    if (s_.options.test == Test::kLatency) return to_json(latency_ ? latency_->so_far() : LatencyResult(), true);
    return to_json(transfer_ ? transfer_->so_far() : TransferResult(), true);
  }

 private:
  const RunnerSetup s_;
  Datagrams datagrams_;
  std::optional<DatagramLatency> latency_;
  std::optional<DatagramTransfer> transfer_;
};

}  // namespace

std::unique_ptr<Runner> make_runner(const RunnerSetup& setup) {
  if (setup.options.datagrams()) return std::make_unique<DatagramRunner>(setup);
  if (setup.options.test == Test::kLatency) return std::make_unique<LatencyRunner>(setup);
  return std::make_unique<TransferRunner>(setup);
}

}  // namespace mrc::perf
