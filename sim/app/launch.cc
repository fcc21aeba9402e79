#include "launch.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "secure_environment.h"
#include "sim/helper/progress.h"
#include "sim/helper/report.h"
#include "sim/helper/svg.h"
#include "sim/helper/trace_writer.h"

namespace mrc::sim {
namespace {

using Report = std::function<void(Ps simulated, uint64_t events, double share)>;

// The share of each point that is done, written by the processes that run them.
class Shares {
 public:
  explicit Shares(size_t points) : points_(points) {
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw ConfigError("no memory for the progress of the points");
    millionths_ = static_cast<std::atomic<uint32_t>*>(memory);
  }
  ~Shares() { munmap(millionths_, bytes()); }
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  void set(size_t point, double share) { millionths_[point] = static_cast<uint32_t>(1e6 * std::min(share, 1.0)); }
  double of_all() const {
    double sum = 0;
    for (size_t i = 0; i < points_; ++i) sum += millionths_[i];
    return sum / 1e6 / static_cast<double>(points_);
  }

 private:
  size_t bytes() const { return points_ * sizeof(std::atomic<uint32_t>); }
  const size_t points_;
  std::atomic<uint32_t>* millionths_;  // zeros are what mmap gives
  static_assert(std::atomic<uint32_t>::is_always_lock_free);
};

void run_point(const ScenarioFile& file, size_t index, Output* output, const LaunchOptions& o, const Report& report) {
  const Point& p = file.points[index];
  RunOptions options;
  std::unique_ptr<TraceWriter> trace;
  const std::string trace_part = o.out + "/trace" + std::to_string(index) + ".part";
  if (o.trace || p.spec.measure.trace) {
    std::filesystem::remove_all(trace_part);
    std::filesystem::create_directory(trace_part);
    trace = std::make_unique<TraceWriter>(trace_part, p.spec.name + ", " + p.label());
    options.tracer = [&trace](uint32_t nic, const core::TraceEntry& entry) { trace->add(nic, entry); };
  }
  // The share by whichever is further: the operations done, or the time limit.
  options.progress = [&](Ps now, uint64_t events, double done) {
    report(now, events, std::max(done, static_cast<double>(now) / static_cast<double>(p.spec.limit)));
  };
  const RunResult r = run_scenario(p.spec, options);
  output->write_point(file, index, r);
  if (const std::string text = unfinished_text(r.summary); !text.empty())
    std::fprintf(stderr, "point %zu: %s\n", index, text.c_str());
  if (trace) {
    trace->finish();
    const std::string there = output->point_folder(index) + "/trace";
    std::filesystem::remove_all(there);
    std::filesystem::rename(trace_part, there);
  }
  if (o.perf) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%s: %.2f s, %.3f M packets/s from NICs, %.2f M events/s, peak memory %.0f MiB\n", p.label().c_str(),
                r.wall_seconds, static_cast<double>(r.packets) / r.wall_seconds / 1e6,
                static_cast<double>(r.events) / r.wall_seconds / 1e6, static_cast<double>(usage.ru_maxrss) / 1024);
  }
}

// In a child.
int run_point_alone(const ScenarioFile& file, size_t index, Output* output, const LaunchOptions& o,
                    const Report& report) {
  int status = 0;
  try {
    run_point(file, index, output, o, report);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", file.points[index].label().c_str(), e.what());
    status = 2;
  }
  std::fflush(nullptr);
  return status;
}

// SIGCHLD waits for sigtimedwait as long as this lives.
class ChildSignals {
 public:
  ChildSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~ChildSignals() { restore(); }
  ChildSignals(const ChildSignals&) = delete;
  ChildSignals& operator=(const ChildSignals&) = delete;

  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  // Until a child may have ended, or a third of a second has passed.
  void wait() const {
    const timespec third{0, 333000000};
    sigtimedwait(&set_, nullptr, &third);
  }

 private:
  sigset_t set_{}, before_{};
};

// A child per point: runs do not share memory, and ns-3 has one simulator per process.
bool run_in_children(const ScenarioFile& file, const std::vector<size_t>& mine, Output* output,
                     const LaunchOptions& o) {
  std::map<pid_t, size_t> running;  // positions in `mine`
  size_t next = 0, done = 0;
  bool ok = true;
  const pid_t parent = getpid();
  Shares shares(mine.size());
  Progress progress(!o.quiet);
  const ChildSignals signals;
  std::fflush(nullptr);
  while (next < mine.size() || !running.empty()) {
    while (next < mine.size() && running.size() < o.jobs) {
      const size_t at = next++;
      const pid_t child = fork();
      if (child == 0) {
        // A signal that ends this process must end its children, too; the parent may have ended before the first line.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(2);
        signals.restore();
        _exit(run_point_alone(file, mine[at], output, o, [&](Ps, uint64_t, double share) { shares.set(at, share); }));
      }
      if (child < 0) return false;
      running[child] = at;
    }
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    if (ended == 0) signals.wait();
    if (const auto it = running.find(ended); it != running.end()) {
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        const size_t index = mine[it->second];
        progress.clear();
        std::fprintf(stderr, "point %zu (%s) failed\n", index, file.points[index].label().c_str());
        ok = false;
      }
      shares.set(it->second, 1);
      ++done;
      running.erase(it);
    }
    progress.sweep(done, mine.size(), shares.of_all());
  }
  return ok;
}

long environment(const char* name, long otherwise) {
  const char* text = mrc::environment::variable(name);
  return text != nullptr && *text != 0 ? std::strtol(text, nullptr, 10) : otherwise;
}

// Ranks share the folder; what each has to do follows from its number alone. A number that is not below the count would
// leave points without an owner.
std::vector<size_t> share(size_t points, const std::string& launcher) {
  long rank = 0, ranks = 1;
  if (launcher == "mpi") {
    rank = environment("OMPI_COMM_WORLD_RANK", 0);
    ranks = environment("OMPI_COMM_WORLD_SIZE", 1);
    if (rank < 0 || rank >= ranks)
      throw ConfigError("OMPI_COMM_WORLD_RANK is " + std::to_string(rank) + ", allowed: below OMPI_COMM_WORLD_SIZE, " +
                        std::to_string(ranks));
  } else if (launcher == "slurm") {
    // --array=MIN-MAX:STEP
    const long min = environment("SLURM_ARRAY_TASK_MIN", 0), step = environment("SLURM_ARRAY_TASK_STEP", 1);
    const long id = environment("SLURM_ARRAY_TASK_ID", min);
    ranks = environment("SLURM_ARRAY_TASK_COUNT", 1);
    const long max = environment("SLURM_ARRAY_TASK_MAX", min + (ranks - 1) * step);
    rank = step > 0 ? (id - min) / step : -1;
    if (rank < 0 || rank >= ranks || id != min + rank * step || max != min + (ranks - 1) * step)
      throw ConfigError("Slurm array task " + std::to_string(id) + " has no place among " + std::to_string(ranks) +
                        " from " + std::to_string(min) + " to " + std::to_string(max) + " by " + std::to_string(step) +
                        ": --array must be a range, such as 0-15 or 0-30:2, not a list");
  }
  std::vector<size_t> mine;
  for (size_t i = static_cast<size_t>(rank); i < points; i += static_cast<size_t>(ranks)) mine.push_back(i);
  return mine;
}

}  // namespace

int launch(const ScenarioFile& file, const LaunchOptions& o) {
  const std::vector<size_t> mine = share(file.points.size(), o.launcher);
  Output output(o.out);
  output.begin(file, mine);
  if (mine.size() == 1) {
    Progress progress(!o.quiet);
    run_point(file, mine[0], &output, o,
              [&](Ps now, uint64_t events, double share) { progress.run(now, events, share); });
  } else if (!run_in_children(file, mine, &output, o)) {
    return 2;
  }
  const auto checks = output.gather(file);
  if (!checks) return 0;  // another rank has points to finish, and gathers then
  size_t failed = 0;
  for (const CheckResult& c : *checks) {
    failed += !c.passed;
    if (!o.quiet || !c.passed)
      std::printf("%s  %s: %s\n", c.passed ? "holds" : "FAILS", c.text.c_str(),
                  c.why.empty() ? format_number(c.value).c_str() : c.why.c_str());
  }
  if (!o.quiet) std::printf("%s\n", output.sentence().c_str());
  if (!o.quiet)
    std::printf("%s in %s, report in %s/report.html\n", plural(file.points.size(), "point", "points").c_str(),
                o.out.c_str(), o.out.c_str());
  return failed == 0 ? 0 : 1;
}

}  // namespace mrc::sim
