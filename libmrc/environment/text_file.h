// The reader of every text file that a user names: configuration, fabrics, profiles, state. Regular files are read,
// what comes through a pipe without a long pause, and /dev/null, which is empty; and only up to a limit. So a folder, a
// device, a FIFO without a writer or a file of a terabyte is refused and neither blocks the program nor fills its
// memory. Without exceptions other than std::bad_alloc; from any thread.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "fd.h"
#include "result.h"

namespace mrc {

inline constexpr size_t kMaxTextFile = size_t{16} << 20;

namespace text_file {

inline constexpr int kPipePauseMs = 5000;

inline bool is_null_device(const struct stat& s) {
  return S_ISCHR(s.st_mode) && s.st_rdev == makedev(1, 3);
}

}  // namespace text_file

// The text of an error is what is wrong and what to do, without the name of the file.
inline Result<std::string> read_text_file(const std::string& path, size_t max = kMaxTextFile) {
  const auto failed = [](int error) { return Error{error, std::strerror(error)}; };
  std::string text;
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat s {};
  if (!file || ::fstat(file.get(), &s) != 0) return failed(errno);
  if (S_ISDIR(s.st_mode)) return Error{EISDIR, "it is a folder; name a file"};
  if (text_file::is_null_device(s)) return text;
  const bool pipe = S_ISFIFO(s.st_mode);
  if (!S_ISREG(s.st_mode) && !pipe) return invalid("it is neither a regular file nor a pipe; name one");
  const Error too_large{EFBIG,
                        "it is larger than " + std::to_string(max >> 20) + " MiB, the most that is read; shorten it"};
  if (s.st_size > 0 && static_cast<size_t>(s.st_size) > max) return too_large;
  char part[1 << 14];
  for (;;) {  // files of /proc have no size
    const ssize_t n = ::read(file.get(), part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd wait{file.get(), POLLIN, 0};
      if (::poll(&wait, 1, text_file::kPipePauseMs) != 0) continue;
      return Error{ETIMEDOUT, "nothing has come through the pipe for 5 s"};
    }
    if (n == 0 && pipe && text.empty()) return invalid("nothing has come through the pipe");
    if (n < 0) return failed(errno);
    if (n == 0) return text;
    if (text.size() + static_cast<size_t>(n) > max) return too_large;
    text.append(part, static_cast<size_t>(n));
  }
}

}  // namespace mrc
