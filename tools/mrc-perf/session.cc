#include "session.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <random>

#include "error.h"
#include "losses.h"
#include "report.h"
#include "runner.h"
#include "slices.h"
#include "test_json.h"

namespace mrc::perf {

namespace {

constexpr int kProtocol = 4;
constexpr int kThreadsProtocol = 5;  // of a client with threads, which needs a connection for each

// From one slice to the next: the program that drives the client measures others in between.
constexpr double kSliceWaitSeconds = 86400;

// A client identifies itself at once. While the server waits for a silent connection, others are blocked.
constexpr double kIdentifyTimeoutSeconds = 5;

std::string receive_test(Options* o, Oob& oob) {
  const nlohmann::json request = oob.receive(kIdentifyTimeoutSeconds);
  const auto version = request.find("mrc_perf");
  if (version == request.end()) throw PerfError("it is no mrc-perf", "start the client with this --port");
  if (*version != kProtocol && *version != kThreadsProtocol)
    throw PerfError("the client is another version of mrc-perf", "use the same version on both sides");
  test_from_json(request.value("test", nlohmann::json()), o);
  return request.value("session", "");
}

// Runs a part of the session; an exception of this side is reported to the other one. The peer's messages may have any
// form, and is as much its fault as a value that makes no sense.
template <typename Part>
auto report_errors_to_peer(Oob& oob, const Part& part) {
  const auto report_error = [&oob](const std::exception& e) {
    try {
      oob.send({{"error", e.what()}});
    } catch (const PerfError&) {  // the peer has ended: no one to notify
    }
  };
  try {
    return part();
  } catch (const nlohmann::json::exception& e) {
    report_error(e);
    throw PerfError(std::string("what the other side says is not understood: ") + e.what(),
                    "use the same version of mrc-perf on both sides");
  } catch (const std::exception& e) {
    report_error(e);
    throw;
  }
}

class Session {
 public:
  Session(const Options& o, const Device& device, std::vector<Oob*> channels, nlohmann::json* report)
      : o_(o),
        share_(share_of(o)),
        channels_(std::move(channels)),
        oob_(*channels_[0]),
        device_(device),
        report_(*report) {}

  void run() {
    if (o_.slices)
      run_slices(o_.sizes[0]);
    else
      for (uint64_t size : o_.sizes) run_size(size);
    report_["ok"] = ok_;
  }

 private:
  void run_size(uint64_t size) {
    const Plan plan = make_plan(share_, size);
    Pattern pattern(o_.seed, std::max<uint64_t>(size, 64));
    Memory source(device_, pattern.data(), pattern.size());
    const Snapshot before = read_device_stats(device_.verbs());
    for (const char* of_one_size : {"losses", "timeline"}) report_.erase(of_one_size);
    const size_t sizes = report_.at("sizes").size();
    std::unique_ptr<Runner> runner;
    try {
      runner = make_runner({o_, share_, plan, device_, channels_, pattern, source});
      report_["mtu"] = runner->mtu();
      exchange_results(plan, before, runner.get(), measure(plan, runner.get()));
      // Neither side destroys its queue pairs while the other still waits for an acknowledgement.
      oob_.barrier("end of size");
    } catch (...) {
      if (report_.at("sizes").size() == sizes) try_to_keep_incomplete(plan, before, runner.get());
      throw;
    }
    if (o_.json != "-") print_size(report_, stdout);
  }

  void exchange_results(const Plan& plan, const Snapshot& before, const Runner* runner, const nlohmann::json& mine) {
    const Snapshot after = read_device_stats(device_.verbs());
    const nlohmann::json my_losses = loss_counters(before, after);
    oob_.send({{"result", mine}, {"losses", my_losses}});
    const nlohmann::json answer = oob_.receive(60);
    const nlohmann::json& theirs = answer.at("result");
    add_size(&report_, o_, plan, !o_.is_server(), mine, theirs);
    ok_ = ok_ && mine.value("mismatches", 0) == 0 && theirs.value("mismatches", 0) == 0;
    add_paths(&report_, before, after, read_qp_stats(runner->first_qp()));
    // An older mrc-perf says nothing of its losses.
    if (answer.contains("losses")) add_losses(&report_, !o_.is_server(), my_losses, answer.at("losses"));
  }

  // The error of the run is the one to be told, whatever else fails then.
  void try_to_keep_incomplete(const Plan& plan, const Snapshot& before, const Runner* runner) {
    try {
      keep_incomplete(plan, before, runner);
    } catch (const std::exception&) {
    }
  }

  // The run has failed. `runner`: null when it could not be made.
  void keep_incomplete(const Plan& plan, const Snapshot& before, const Runner* runner) {
    add_paths(&report_, before, read_device_stats(device_.verbs()),
              read_qp_stats(runner != nullptr ? runner->first_qp() : nullptr));
    if (runner == nullptr) return;
    add_incomplete_size(&report_, o_, plan, !o_.is_server(), runner->so_far());
    if (o_.json != "-") print_size(report_, stdout);
  }

  nlohmann::json measure(const Plan& plan, Runner* runner) {
    const bool shows = (!o_.is_server() || o_.bidirectional) && o_.test != Test::kLatency;
    Monitor::Timeline timeline;
    if (shows) timeline = {o_.timeline_ms, o_.timeline_line_ms != 0 ? o_.timeline_line_ms : o_.timeline_ms};
    Monitor monitor(device_.verbs(), runner->first_qp(), plan.size,
                    shows && !o_.quiet && o_.timeline_ms == 0 && o_.threads == 1, timeline,
                    o_.json == "-" ? stderr : stdout);
    runner->start(monitor);
    oob_.barrier("start");
    const auto keep_timeline = [&] {
      if (!monitor.timeline().empty()) report_["timeline"] = timeline_to_json(monitor.timeline());
    };
    try {
      nlohmann::json result = runner->run(o_.duration_s);
      keep_timeline();
      return result;
    } catch (...) {
      keep_timeline();
      throw;
    }
  }

  // Set up once; then a run for each slice that the client asks for.
  void run_slices(uint64_t size) {
    const Plan plan = make_plan(share_, size);
    Pattern pattern(o_.seed, std::max<uint64_t>(size, 64));
    Memory source(device_, pattern.data(), pattern.size());
    const auto runner = make_runner({o_, share_, plan, device_, channels_, pattern, source});
    Monitor monitor(device_.verbs(), runner->first_qp(), plan.size, false, {}, stderr);
    const bool client = !o_.is_server();
    runner->start(monitor);
    oob_.barrier("slices");
    if (client) tools::print_slices_ready();
    while (const std::optional<double> seconds = client ? asked_slice() : announced_slice()) {
      oob_.barrier("slice");
      const nlohmann::json mine = runner->run(*seconds);
      oob_.send({{"result", mine}});
      const nlohmann::json theirs = oob_.receive(60).at("result");
      ok_ = ok_ && mine.value("mismatches", 0) == 0 && theirs.value("mismatches", 0) == 0;
      if (client) tools::print_slice(slice_line(o_, plan, mine, theirs).dump());
    }
    oob_.barrier("end of slices");
  }

  // Of the client: from its standard input, passed on to the server.
  std::optional<double> asked_slice() {
    const Result<std::optional<double>> seconds = tools::next_slice(o_.duration_s);
    if (!seconds) throw UsageError(seconds.error().text, "write a number of seconds on each line, or nothing");
    oob_.send({{"slice", seconds->value_or(0)}});
    return *seconds;
  }

  std::optional<double> announced_slice() {
    const double seconds = oob_.receive(kSliceWaitSeconds).at("slice").get<double>();
    if (seconds == 0) return std::nullopt;
    if (!(seconds >= tools::kMinSliceSeconds && seconds <= tools::kMaxSliceSeconds))
      throw PerfError("the client asks for a slice of " + std::to_string(seconds) + " s",
                      "use the same version on both sides");
    return seconds;
  }

  // What each thread does.
  static Options share_of(Options o) {
    o.qps /= o.threads;
    return o;
  }

  const Options o_, share_;
  const std::vector<Oob*> channels_;
  Oob& oob_;
  const Device& device_;
  nlohmann::json& report_;
  bool ok_ = true;
};

}  // namespace

std::string agree(Options* options, Oob& oob) {
  return report_errors_to_peer(oob, [&]() -> std::string {
    if (options->is_server()) return receive_test(options, oob);
    std::random_device random;
    const std::string session = std::to_string(uint64_t{random()} << 32 | random());
    oob.send({{"mrc_perf", options->threads > 1 ? kThreadsProtocol : kProtocol},
              {"session", session},
              {"test", test_to_json(*options)}});
    return session;
  });
}

void run_session(const Options& options, const Device& device, std::vector<Oob*> channels, nlohmann::json* report) {
  Oob& oob = *channels[0];
  report_errors_to_peer(oob, [&] { Session(options, device, std::move(channels), report).run(); });
}

}  // namespace mrc::perf
