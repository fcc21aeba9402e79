#include "session.h"

#include <cstdio>
#include <memory>

#include "error.h"
#include "latency.h"
#include "report.h"
#include "test_json.h"
#include "transfer.h"

namespace mrc::perf {

namespace {

constexpr int kProtocol = 3;

// A client identifies itself at once. While the server waits for a silent connection, others are blocked.
constexpr double kHelloSeconds = 5;

void hear_client(Options* o, Oob& oob) {
  const nlohmann::json hello = oob.receive(kHelloSeconds);
  const auto version = hello.find("mrc_perf");
  if (version == hello.end()) throw PerfError("it is no mrc-perf", "start the client with this --port");
  if (*version != kProtocol)
    throw PerfError("the client is another version of mrc-perf", "use the same version on both sides");
  test_from_json(hello.value("test", nlohmann::json()), o);
}

// Runs a part of the session; an exception of this side is reported to the other one. The peer's messages may have any
// form, and is as much its fault as a value that makes no sense.
template <typename Part>
auto telling_the_peer(Oob& oob, const Part& part) {
  const auto tell = [&oob](const std::exception& e) {
    try {
      oob.send({{"error", e.what()}});
    } catch (const PerfError&) {  // the peer has ended: no one to notify
    }
  };
  try {
    return part();
  } catch (const nlohmann::json::exception& e) {
    tell(e);
    throw PerfError(std::string("what the other side says is not understood: ") + e.what(),
                    "use the same version of mrc-perf on both sides");
  } catch (const std::exception& e) {
    tell(e);
    throw;
  }
}

nlohmann::json to_json(const TransferResult& r) {
  return {{"sent", r.sent},
          {"seconds", r.send_s},
          {"cpu_s", r.cpu_s},
          {"received", r.received},
          {"checked", r.checked},
          {"mismatches", r.mismatches},
          {"first_mismatch", r.first_mismatch}};
}

nlohmann::json to_json(const LatencyResult& r) {
  return {{"samples", r.samples}, {"min_us", r.min_us},   {"p50_us", r.p50_us}, {"p90_us", r.p90_us},
          {"p99_us", r.p99_us},   {"p999_us", r.p999_us}, {"max_us", r.max_us}, {"mean_us", r.mean_us},
          {"seconds", r.seconds}, {"cpu_s", r.cpu_s}};
}

class Session {
 public:
  Session(const Options& o, const Device& device, Oob& oob)
      : o_(o), oob_(oob), device_(device), report_(make_report(o, device.name(), device.gid_index())) {}

  nlohmann::json run() {
    for (uint64_t size : o_.sizes) run_size(size);
    report_["ok"] = ok_;
    return std::move(report_);
  }

 private:
  void run_size(uint64_t size) {
    const Plan plan = make_plan(o_, size);
    Memory buffer(device_, plan.buffer_bytes);
    Pattern pattern(o_.seed, std::max<uint64_t>(size, 64));
    Memory source(device_, pattern.data(), pattern.size());
    const Snapshot before = read_device_stats(device_.verbs());
    {
      Connection connection(o_, device_, plan, buffer, oob_);
      nlohmann::json mine = o_.test == Test::kLatency ? latency(plan, connection, source, buffer)
                                                      : transfer(plan, connection, pattern, source, buffer);
      oob_.send({{"result", mine}});
      const nlohmann::json theirs = oob_.receive(60).at("result");
      report_["mtu"] = connection.mtu();
      add_size(&report_, o_, plan, !o_.is_server(), mine, theirs);
      ok_ = ok_ && mine.value("mismatches", 0) == 0 && theirs.value("mismatches", 0) == 0;
      add_paths(&report_, before, read_device_stats(device_.verbs()), read_qp_stats(connection.qps()[0]));
      // Neither side destroys its queue pairs while the other still waits for an acknowledgement.
      oob_.barrier("end of size");
    }
    if (o_.json != "-") print_size(report_, stdout);
  }

  nlohmann::json transfer(const Plan& plan, const Connection& connection, const Pattern& pattern, const Memory& source,
                          const Memory& buffer) {
    const bool shows = !o_.is_server() || o_.bidirectional;
    Monitor monitor(device_.verbs(), connection.qps()[0], plan.size, shows && !o_.quiet && o_.timeline_ms == 0,
                    shows ? o_.timeline_ms : 0, o_.json == "-" ? stderr : stdout);
    Transfer t({o_, plan, connection, pattern, source, buffer, oob_, monitor, !o_.is_server()});
    t.post_first_receives();
    oob_.barrier("start");
    const nlohmann::json result = to_json(t.run());
    if (!monitor.timeline().empty()) report_["timeline"] = timeline_to_json(monitor.timeline());
    return result;
  }

  nlohmann::json latency(const Plan& plan, const Connection& connection, const Memory& source, const Memory& buffer) {
    Latency l({o_, plan, connection, source, buffer, oob_, !o_.is_server()});
    l.post_first_receives();
    oob_.barrier("start");
    return to_json(l.run());
  }

  const Options o_;
  Oob& oob_;
  const Device& device_;
  nlohmann::json report_;
  bool ok_ = true;
};

}  // namespace

void agree(Options* options, Oob& oob) {
  telling_the_peer(oob, [&] {
    if (options->is_server())
      hear_client(options, oob);
    else
      oob.send({{"mrc_perf", kProtocol}, {"test", test_to_json(*options)}});
  });
}

nlohmann::json run_session(const Options& options, const Device& device, Oob& oob) {
  return telling_the_peer(oob, [&] { return Session(options, device, oob).run(); });
}

}  // namespace mrc::perf
