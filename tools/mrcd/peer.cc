#include "peer.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "fd.h"

namespace mrc::mrcd {

namespace {

// The folder of a process in /proc, held open: reads through it concern that process or fail, even when its
// number was reused by another one meanwhile.
class ProcessFolder {
 public:
  explicit ProcessFolder(const std::string& name) : fd_(::open(("/proc/" + name).c_str(), O_DIRECTORY | O_CLOEXEC)) {}

  std::string status() const {
    const Fd file(::openat(fd_.get(), "status", O_RDONLY | O_CLOEXEC));
    if (!file) return "";
    std::array<char, 8192> text;
    const ssize_t n = ::read(file.get(), text.data(), text.size());
    return n > 0 ? std::string(text.data(), static_cast<size_t>(n)) : "";
  }
  bool same_user_namespace(const ProcessFolder& other) const {
    struct stat a, b;
    return ::fstatat(fd_.get(), "ns/user", &a, 0) == 0 && ::fstatat(other.fd_.get(), "ns/user", &b, 0) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  }

 private:
  const Fd fd_;
};

// Number `index` of the line that begins with `key`.
std::optional<uint64_t> number_of(const std::string& status, const char* key, int index, int base) {
  size_t at = status.find(std::string("\n") + key + ":");
  if (at == std::string::npos) return std::nullopt;
  at += std::strlen(key) + 2;
  uint64_t number = 0;
  for (; index >= 0; --index) {
    at = status.find_first_not_of(" \t", at);
    if (at == std::string::npos) return std::nullopt;
    const auto parsed = std::from_chars(status.data() + at, status.data() + status.size(), number, base);
    if (parsed.ec != std::errc()) return std::nullopt;
    at = static_cast<size_t>(parsed.ptr - status.data());
  }
  return number;
}

// The kernel does not pass capabilities with SO_PEERCRED, so they are read of the process as it is now. They count when
// they are capabilities in our user namespace, and when the user is still the one that connected: otherwise a user
// might connect and then run a set-uid program. The namespace is checked last, because no process returns from one of
// its own: one that gets its capabilities by entering it is found there.
bool has_net_admin(pid_t pid, uid_t uid) {
  constexpr int kEffective = 1;  // of real, effective, saved and file system user
  const ProcessFolder self("self"), peer(std::to_string(pid));
  const std::string status = peer.status();
  const std::optional<uint64_t> user = number_of(status, "Uid", kEffective, 10);
  const std::optional<uint64_t> capabilities = number_of(status, "CapEff", 0, 16);
  return user == uid && capabilities && (*capabilities >> CAP_NET_ADMIN & 1) != 0 && peer.same_user_namespace(self);
}

// By its name or number.
std::optional<gid_t> group_id(const std::string& name) {
  gid_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  if (!name.empty() && parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) return number;
  const group* found = ::getgrnam(name.c_str());
  return found != nullptr ? std::optional(found->gr_gid) : std::nullopt;
}

}  // namespace

std::optional<Credentials> credentials_of(int socket) {
  ucred client{};
  socklen_t size = sizeof client;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &client, &size) != 0) return std::nullopt;
  Credentials peer{client.pid, client.uid, client.gid, std::vector<gid_t>(64), has_net_admin(client.pid, client.uid)};
  for (;;) {
    size = static_cast<socklen_t>(peer.groups.size() * sizeof(gid_t));
    const int error = ::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) == 0 ? 0 : errno;
    peer.groups.resize(error == 0 || error == ERANGE ? size / sizeof(gid_t) : 0);
    if (error != ERANGE) return peer;
  }
}

bool may_control(const Credentials& client, const std::string& group) {
  if (client.net_admin) return true;
  if (group.empty()) return false;
  const std::optional<gid_t> wanted = group_id(group);
  return wanted && (client.gid == *wanted ||
                    std::find(client.groups.begin(), client.groups.end(), *wanted) != client.groups.end());
}

Peer peer_of(const Credentials& client, const std::string& group) {
  const passwd* user = ::getpwuid(client.uid);
  return {client.pid, client.uid, may_control(client, group),
          user != nullptr ? user->pw_name : std::to_string(client.uid)};
}

}  // namespace mrc::mrcd
