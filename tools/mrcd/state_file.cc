#include "state_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "text_file.h"

namespace mrc::mrcd {

namespace {
constexpr size_t kMaxState = size_t{64} << 20;  // thousands of profiles with full tables
}

Result<nlohmann::json> load_state(const std::string& path) {
  Result<std::string> text = read_text_file(path, kMaxState);
  if (!text && text.error().code == ENOENT) return nlohmann::json::object();
  if (!text) return std::move(text).error().under(path + ": ");
  nlohmann::json read = nlohmann::json::parse(*text, nullptr, false);
  if (!read.is_object()) return invalid(path + ": not a state file of mrcd; move it away to begin without one");
  return read;
}

Status save_state(const std::string& path, const nlohmann::json& state) {
  const std::string beside = path + ".new";
  const std::string text = state.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  int error = fd < 0 ? errno : 0;
  for (size_t at = 0; error == 0 && at < text.size();) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n > 0)
      at += static_cast<size_t>(n);
    else if (errno != EINTR)
      error = errno;
  }
  if (error == 0 && ::fdatasync(fd) != 0) error = errno;
  if (fd >= 0 && ::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) return failed_call(path, error);
  return {};
}

}  // namespace mrc::mrcd
