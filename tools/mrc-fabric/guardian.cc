#include "guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "topology.h"

namespace mrc::fabric {
namespace {

volatile sig_atomic_t signal_number = 0;

void remember(int number) {
  signal_number = number;
}

[[noreturn]] void watch(int pipe, const std::function<void()>& on_death) {
  setsid();  // what ends our group or terminal must not end this one
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(s, SIG_IGN);
  if (const int null = open("/dev/null", O_RDWR); null >= 0) {
    dup2(null, 0);
    dup2(null, 1);
  }
  char word = 0;
  ssize_t n = 0;
  while ((n = read(pipe, &word, 1)) < 0 && errno == EINTR) {
  }
  if (n == 1) _exit(0);
  try {
    on_death();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrc-fabric: cleaning up: %s\n", e.what());
    _exit(1);
  }
  _exit(0);
}

}  // namespace

Guardian::Guardian(const std::function<void()>& on_death) {
  int ends[2];
  if (pipe(ends) != 0) throw FabricError(std::string("pipe: ") + std::strerror(errno));
  const Fd theirs(ends[0]);
  pipe_ = Fd(ends[1]);
  pid_ = fork();
  if (pid_ < 0) throw FabricError(std::string("fork: ") + std::strerror(errno));
  if (pid_ == 0) {
    pipe_ = Fd();
    watch(theirs.get(), on_death);
  }
}

Guardian::~Guardian() {
  if (pid_ < 0) return;
  pipe_ = Fd();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Guardian::dismiss() {
  const char word = 1;
  while (write(pipe_.get(), &word, 1) < 0 && errno == EINTR) {
  }
  pipe_ = Fd();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void Guardian::close_in_child() {
  pipe_ = Fd();
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = remember;
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) sigaction(s, &action, nullptr);
}

int caught_signal() {
  return signal_number;
}

}  // namespace mrc::fabric
