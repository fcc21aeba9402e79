#include "log.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace mrc::nccl {

namespace {

std::atomic<ncclDebugLogger_t> the_logger{nullptr};

}  // namespace

void set_logger(ncclDebugLogger_t logger) {
  if (logger != nullptr) the_logger.store(logger);
}

void log_message(ncclDebugLogLevel level, unsigned long flags, const char* file, int line, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (const ncclDebugLogger_t logger = the_logger.load(); logger != nullptr) {
    logger(level, flags, file, line, "%s", text);
  } else if (level <= NCCL_LOG_WARN) {
    std::fprintf(stderr, "%s:%d %s\n", file, line, text);
  }
}

}  // namespace mrc::nccl
