#include "device/publisher.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "datapath/holder.h"
#include "device/log.h"
#include "device/unix_address.h"
#include "fd.h"

namespace mrc::device {

namespace {

constexpr int kWaiting = 8;  // queued readers

// Only a folder owned by this user, closed to others: any user may have made one of this name below /tmp.
Status own_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed_call("cannot make " + path);
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) return failed_call(path);
  if (S_ISDIR(s.st_mode) && s.st_uid == ::geteuid() && (s.st_mode & 0077) == 0) return {};
  if (s.st_uid != ::geteuid())
    log_once(LogLevel::kWarn,
             path + " cannot hold this process's counters" + datapath::taken_by(datapath::Holder{s.st_uid, 0}));
  return Error{EACCES, path + " is not a folder of this user alone"};
}

}  // namespace

Status Publisher::open(const std::string& folder, const std::string& device) {
  const std::string own = folder + "/mrc-" + std::to_string(::geteuid());
  std::string name = device;
  for (char& c : name)
    if (c == '/') c = '_';
  const std::string file = std::to_string(::getpid()) + "." + name;
  const std::string path = own + "/" + file;
  // Readers consider a name that refuses connections the remains of a crash, and a socket refuses until it listens: it
  // gets its name after that. They skip names with a leading dot.
  const std::string unready = own + "/." + file;
  const std::optional<UnixAddress> at = unix_address(unready);
  if (!at) return Error{ENAMETOOLONG, "the name " + path + " is too long for a socket"};
  if (Status folder_made = own_folder(own); !folder_made) return folder_made;
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return failed_call("socket");
  // Both names contain our process number, so existing ones were left by a process that has ended.
  ::unlink(unready.c_str());
  if (::bind(fd.get(), at->get(), at->length) != 0 || ::listen(fd.get(), kWaiting) != 0 ||
      ::rename(unready.c_str(), path.c_str()) != 0) {
    Error error = failed_call(path);
    ::unlink(unready.c_str());
    return error;
  }
  fd_ = std::move(fd);
  path_ = path;
  return {};
}

void Publisher::close() {
  if (!fd_) return;
  ::unlink(path_.c_str());
  fd_ = Fd();
}

void Publisher::answer(const std::function<std::string()>& text) const {
  for (int i = 0; i < kWaiting; ++i) {
    const Fd reader(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!reader) return;
    const std::string all = text();
    // Tens of kilobytes fit a fresh socket's buffer; otherwise the text is truncated.
    [[maybe_unused]] const ssize_t sent = ::send(reader.get(), all.data(), all.size(), MSG_NOSIGNAL);
  }
}

}  // namespace mrc::device
