#include "device/log.h"

#include <unistd.h>

#include <atomic>
#include <set>

#include "mutex.h"

namespace mrc::device {

namespace {

std::atomic<LogLevel> threshold{LogLevel::kError};

}  // namespace

void set_log_level(LogLevel level) {
  threshold.store(level, std::memory_order_relaxed);
}

bool logs(LogLevel level) {
  return level != LogLevel::kOff && level <= threshold.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, const std::string& text) {
  if (!logs(level)) return;
  const std::string line = std::string("mrc: ") + word_of(level) + ": " + text + "\n";
  // One write, so that lines of several threads and processes do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

void log_once(LogLevel level, const std::string& text) {
  if (!logs(level)) return;
  static Mutex mutex;
  static std::set<std::string>* const seen ABSL_PT_GUARDED_BY(mutex) =
      new std::set<std::string>;  // never destroyed, for use at process exit
  bool last;
  {
    const MutexLock lock(mutex);
    if (seen->size() >= kMaxLoggedOnce || !seen->insert(text).second) return;
    last = seen->size() == kMaxLoggedOnce;
  }
  log_line(level, text);
  if (last)
    log_line(level, "these were " + std::to_string(kMaxLoggedOnce) +
                        " different messages that are written once each: others are no longer written");
}

}  // namespace mrc::device
