#include "bench.h"

#include <signal.h>

#include <algorithm>

#include "collectives.h"
#include "process_time.h"

namespace mrc::net_bench {

namespace {

volatile sig_atomic_t interrupted = 0;

// After a batch of runs: do all ranks go on? One that has been interrupted, or whose time is over, ends it for all.
bool goes_on(Rank& rank, double seconds) {
  const double duration = rank.job().at("duration_s");
  if (duration == 0) return false;
  const Json enough = rank.exchange(interrupted != 0 || seconds >= duration);
  return std::none_of(enough.begin(), enough.end(), [](const Json& one) { return one.get<bool>(); });
}

// One size: a checked run, then the timed ones, checked too. The time of all is that of the slowest rank.
void measure(Rank& rank, Collective& collective, size_t bytes) {
  const bool checks = rank.job().at("check");
  const int warm_up = rank.job().at("warm_up"), iterations = rank.job().at("iterations");
  const std::string text = rank.job().at("test").get<std::string>() + " of " + std::to_string(bytes) + " bytes";
  rank.stage("preparing " + text);
  collective.prepare(bytes);
  uint64_t wrong = 0;
  const auto run_checked = [&](int times) {
    if (checks) collective.clear();
    rank.barrier();
    rank.stage("running " + text);
    const Clock::time_point start = Clock::now();
    const double cpu = tools::cpu_seconds();
    for (int i = 0; i < times; ++i) collective.run();
    const std::pair<double, double> spent(std::chrono::duration<double>(Clock::now() - start).count(),
                                          tools::cpu_seconds() - cpu);
    if (checks) rank.stage("checking " + text);
    if (checks && times > 0) wrong += collective.count_wrong();
    return spent;
  };
  run_checked(warm_up);
  double seconds = 0, cpu = 0;
  int done = 0;
  do {
    const auto [batch_seconds, batch_cpu] = run_checked(iterations);
    seconds += batch_seconds;
    cpu += batch_cpu;
    done += iterations;
  } while (goes_on(rank, seconds));
  const Json all = rank.exchange({{"seconds", seconds}, {"cpu", cpu}, {"wrong", wrong}});
  if (rank.rank() != 0) return;
  double slowest = 0, cpu_sum = 0;
  uint64_t wrong_sum = 0;
  for (const Json& one : all) {
    slowest = std::max(slowest, one.at("seconds").get<double>());
    cpu_sum += one.at("cpu").get<double>();
    wrong_sum += one.at("wrong").get<uint64_t>();
  }
  const double each = slowest / done, gbytes = each > 0 ? static_cast<double>(bytes) / each * 1e-9 : 0;
  rank.progress({{"bytes", bytes},
                 {"seconds", each},
                 {"algbw_GBps", gbytes},
                 {"busbw_GBps", gbytes * collective.factor()},
                 {"cpu_seconds", cpu_sum / done},
                 {"iterations", done},
                 {"checked", checks},
                 {"wrong", wrong_sum}});
}

}  // namespace

void run_collective(Rank& rank) {
  const std::unique_ptr<Collective> collective = Collective::make(rank.job().at("test"), rank);
  if (rank.rank() == 0)
    rank.progress({{"plugin", rank.net().name()},
                   {"abi", rank.net().version()},
                   {"device", rank.properties().name != nullptr ? rank.properties().name : ""},
                   {"speed_Mbps", rank.properties().speed}});
  const size_t unit = Collective::unit(rank.job().at("test"), rank.ranks());
  for (size_t bytes : rank.job().at("sizes").get<std::vector<size_t>>())
    measure(rank, *collective, bytes / unit * unit);
  rank.barrier();
  collective->close();
}

Json run_bench(Rank& rank) {
  if (rank.job().at("duration_s") > 0) signal(SIGINT, [](int) { interrupted = 1; });
  rank.open();
  run_collective(rank);
  rank.close();
  return {{"done", true}};
}

}  // namespace mrc::net_bench
