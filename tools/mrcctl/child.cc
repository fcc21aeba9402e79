#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "device.h"

namespace mrcctl {

namespace {
constexpr int kGraceMs = 3000, kStepMs = 10;
}

Child::Child(const std::string& command) {
  int ends[2];
  const auto make_pipe = [&ends] {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("pipe: ") + std::strerror(errno));
  };
  make_pipe();
  const mrc::Fd to(ends[0]);
  in_ = mrc::Fd(ends[1]);
  make_pipe();
  out_ = mrc::Fd(ends[0]);
  const mrc::Fd from(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setpgid(0, 0);  // with all that the shell starts
    ::dup2(to.get(), 0);
    ::dup2(from.get(), 1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  if (pid_ < 0) throw Error(std::string("fork: ") + std::strerror(errno));
}

Child::~Child() {
  in_ = mrc::Fd();
  out_ = mrc::Fd();
  if (ended_ || pid_ < 0) return;
  for (int waited = 0; waited < kGraceMs; waited += kStepMs) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) return;
    ::usleep(kStepMs * 1000);
  }
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool Child::read_some(int timeout_ms) {
  pollfd wait{out_.get(), POLLIN, 0};
  if (::poll(&wait, 1, timeout_ms) <= 0) return false;
  std::array<char, 65536> part;
  const ssize_t n = ::read(out_.get(), part.data(), part.size());
  if (n <= 0) return false;
  lines_.append({part.data(), static_cast<size_t>(n)});
  return true;
}

std::optional<std::string> Child::read_line(int timeout_ms) {
  for (;;) {
    if (const auto next = lines_.next()) return std::string(*next);
    if (!read_some(timeout_ms)) return std::nullopt;
  }
}

std::string Child::read_all(int timeout_ms) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  const auto left = [&] {
    return static_cast<int>((until - std::chrono::steady_clock::now()) / std::chrono::milliseconds(1));
  };
  while (left() > 0 && read_some(left())) {
  }
  return std::string(lines_.rest());
}

int Child::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ended_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace mrcctl
