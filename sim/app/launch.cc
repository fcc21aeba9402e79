#include "launch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include "secure_environment.h"
#include "sim/helper/report.h"
#include "sim/helper/svg.h"
#include "sim/helper/trace_writer.h"

namespace mrc::sim {
namespace {

// Simulated time, speed, and an estimate by whichever is further: the operations done, or the time limit.
void show_progress(const ScenarioSpec& s, Ps now, uint64_t events, double done, double wall) {
  const double by_time = static_cast<double>(now) / static_cast<double>(s.limit);
  const double share = std::max(done, by_time);
  std::fprintf(stderr, "\r  %3.0f%%  simulated %-10s  %.2f M events/s  left about %.0f s   ", share * 100,
               format_time(now).c_str(), static_cast<double>(events) / wall / 1e6,
               share > 0 ? wall * (1 - share) / share : 0.0);
  std::fflush(stderr);
}

bool run_point(const ScenarioFile& file, size_t index, Output* output, const LaunchOptions& o, bool progress) {
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
  timespec begin{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  if (progress)
    options.progress = [&](Ps now, uint64_t events, double done) {
      timespec t{};
      clock_gettime(CLOCK_MONOTONIC, &t);
      show_progress(
          p.spec, now, events, done,
          static_cast<double>(t.tv_sec - begin.tv_sec) + static_cast<double>(t.tv_nsec - begin.tv_nsec) / 1e9);
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
  if (progress) std::fprintf(stderr, "\r%70s\r", "");
  if (o.perf) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%s: %.2f s, %.3f M packets/s from NICs, %.2f M events/s, peak memory %.0f MiB\n", p.label().c_str(),
                r.wall_seconds, static_cast<double>(r.packets) / r.wall_seconds / 1e6,
                static_cast<double>(r.events) / r.wall_seconds / 1e6, static_cast<double>(usage.ru_maxrss) / 1024);
  }
  return true;
}

// A child per point: runs do not share memory, and ns-3 has one simulator per process.
bool run_in_children(const ScenarioFile& file, const std::vector<size_t>& mine, Output* output,
                     const LaunchOptions& o) {
  std::map<pid_t, size_t> running;
  size_t next = 0, done = 0;
  bool ok = true;
  const pid_t parent = getpid();
  std::fflush(nullptr);
  while (next < mine.size() || !running.empty()) {
    while (next < mine.size() && running.size() < o.jobs) {
      const size_t index = mine[next++];
      const pid_t child = fork();
      if (child == 0) {
        // A signal that ends this process must end its children, too; the parent may have ended before the first line.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(2);
        int status = 0;
        try {
          run_point(file, index, output, o, false);
        } catch (const std::exception& e) {
          std::fprintf(stderr, "%s: %s\n", file.points[index].label().c_str(), e.what());
          status = 2;
        }
        std::fflush(nullptr);
        _exit(status);
      }
      if (child < 0) return false;
      running[child] = index;
    }
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (running.count(ended) == 0) continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      std::fprintf(stderr, "point %zu (%s) failed\n", running[ended], file.points[running[ended]].label().c_str());
      ok = false;
    }
    running.erase(ended);
    if (!o.quiet && isatty(2) != 0) std::fprintf(stderr, "\r  %zu of %zu points done ", ++done, mine.size());
  }
  if (!o.quiet && isatty(2) != 0) std::fprintf(stderr, "\r%40s\r", "");
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
    run_point(file, mine[0], &output, o, !o.quiet && isatty(2) != 0);
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
  if (!o.quiet)
    std::printf("%zu points in %s, report in %s/report.html\n", file.points.size(), o.out.c_str(), o.out.c_str());
  return failed == 0 ? 0 : 1;
}

}  // namespace mrc::sim
