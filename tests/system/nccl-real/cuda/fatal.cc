#include "cuda/fatal.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>

namespace mrc::nccl_rig {

void fatal(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fflush(stdout);
  fprintf(stderr, "nccl-rig cannot play this: %s\n", text);
  _exit(kFatalExit);
}

}  // namespace mrc::nccl_rig
