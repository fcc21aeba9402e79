#include "interrupt.h"

#include <signal.h>

namespace mrc::perf {

namespace {
volatile sig_atomic_t came = 0;
}  // namespace

void end_well_when_interrupted() {
  struct sigaction action {};
  action.sa_handler = [](int) { came = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

bool interrupted() {
  return came != 0;
}

}  // namespace mrc::perf
