#include "settings/log.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "log_level.h"
#include "settings/settings.h"

namespace mrc::shim {

namespace {

// libmrc reports a word that is no level.
bool logs(LogLevel level) {
  static const LogLevel threshold = log_level_of(settings().log).value_or(LogLevel::kError);
  return level <= threshold;
}

void write(const char* call, const char* format, va_list arguments) {
  const int saved = errno;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  std::fprintf(stderr, call != nullptr ? "mrc-verbs: %s: %s\n" : "mrc-verbs: %s%s\n", call != nullptr ? call : "",
               text);
  errno = saved;
}

}  // namespace

void log_error(const char* call, const char* format, ...) {
  if (!logs(LogLevel::kError)) return;
  va_list arguments;
  va_start(arguments, format);
  write(call, format, arguments);
  va_end(arguments);
}

void log_info(const char* format, ...) {
  if (!logs(LogLevel::kInfo)) return;
  va_list arguments;
  va_start(arguments, format);
  write(nullptr, format, arguments);
  va_end(arguments);
}

}  // namespace mrc::shim
