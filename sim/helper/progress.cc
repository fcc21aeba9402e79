#include "sim/helper/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace mrc::sim {
namespace {

constexpr std::chrono::milliseconds kTerminalEvery{300};
constexpr std::chrono::seconds kLogEvery{60};

std::string duration_text(double seconds) {
  const auto s = static_cast<long long>(std::min(seconds, 1e9) + 0.5);
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3600) return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
  return std::to_string(s / 3600) + " h " + std::to_string(s % 3600 / 60) + " min";
}

// Nothing is known before a hundredth is done.
std::string left_text(double share, double elapsed) {
  if (share < 0.01) return "";
  return ", about " + duration_text(elapsed * (1 - std::min(share, 1.0)) / share) + " left";
}

std::string percent_text(double share) {
  return std::to_string(static_cast<int>(100 * std::min(share, 1.0))) + " %";
}

}  // namespace

std::string sweep_progress_text(size_t done, size_t points, double share, double elapsed) {
  return std::to_string(done) + " of " + std::to_string(points) + " points, " + percent_text(share) +
         left_text(share, elapsed);
}

std::string run_progress_text(Ps simulated, uint64_t events, double share, double elapsed) {
  char rate[40];
  std::snprintf(rate, sizeof(rate), "%.2f M events/s", static_cast<double>(events) / std::max(elapsed, 1e-9) / 1e6);
  return percent_text(share) + ", simulated " + format_time(simulated) + ", " + rate + left_text(share, elapsed);
}

Progress::Progress(bool wanted) : wanted_(wanted), terminal_(isatty(STDERR_FILENO) != 0) {}

double Progress::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Progress::run(Ps simulated, uint64_t events, double share) {
  show(run_progress_text(simulated, events, share, elapsed()));
}

void Progress::sweep(size_t done, size_t points, double share) {
  show(sweep_progress_text(done, points, share, elapsed()));
}

void Progress::show(const std::string& text) {
  const Clock::time_point now = Clock::now();
  if (!wanted_ || now - shown_ < (terminal_ ? Clock::duration(kTerminalEvery) : Clock::duration(kLogEvery))) return;
  shown_ = now;
  visible_ = terminal_;
  std::fprintf(stderr, terminal_ ? "\r  %-76s" : "%s\n", text.c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (visible_) std::fprintf(stderr, "\r%78s\r", "");
  visible_ = false;
}

}  // namespace mrc::sim
