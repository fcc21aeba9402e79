#include "settings/log.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "settings/settings.h"

namespace mrc::shim {

namespace {

bool enabled(const char* level) {
  static constexpr const char* kLevels[] = {"off", "error", "warn", "info", "debug"};
  int chosen = 1, asked = 0;
  for (int i = 0; i < 5; ++i) {
    if (settings().log == kLevels[i]) chosen = i;
    if (std::string(level) == kLevels[i]) asked = i;
  }
  return asked <= chosen;
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
  if (!enabled("error")) return;
  va_list arguments;
  va_start(arguments, format);
  write(call, format, arguments);
  va_end(arguments);
}

void log_info(const char* format, ...) {
  if (!enabled("info")) return;
  va_list arguments;
  va_start(arguments, format);
  write(nullptr, format, arguments);
  va_end(arguments);
}

}  // namespace mrc::shim
