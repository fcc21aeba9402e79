#include "device/log.h"

#include <unistd.h>

#include <atomic>
#include <set>

#include "mutex.h"

namespace mrc::device {

namespace {

constexpr const char* kNames[] = {"off", "error", "warn", "info", "debug"};

std::atomic<LogLevel> threshold{LogLevel::kError};

}  // namespace

LogLevel log_level_of(const std::string& word) {
  for (uint8_t i = 0; i < std::size(kNames); ++i)
    if (word == kNames[i]) return static_cast<LogLevel>(i);
  return LogLevel::kError;
}

void set_log_level(LogLevel level) {
  threshold.store(level, std::memory_order_relaxed);
}

bool logs(LogLevel level) {
  return level != LogLevel::kOff && level <= threshold.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, const std::string& text) {
  if (!logs(level)) return;
  const std::string line = std::string("mrc: ") + kNames[static_cast<int>(level)] + ": " + text + "\n";
  // One write, so that lines of several threads and processes do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void log_once(LogLevel level, const std::string& text) {
  if (!logs(level)) return;
  static Mutex mutex;
  static std::set<std::string>* const seen ABSL_PT_GUARDED_BY(mutex) =
      new std::set<std::string>;  // never destroyed, for use at process exit
  {
    const MutexLock lock(mutex);
    if (!seen->insert(text).second) return;
  }
  log_line(level, text);
}

}  // namespace mrc::device
