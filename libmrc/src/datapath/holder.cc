#include "datapath/holder.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "fd.h"
#include "folder.h"

namespace mrc::datapath {

namespace {

// A line of /proc/net/udp, tcp and their IPv6 twins.
struct Entry {
  IpAddress local;
  uint16_t local_port = 0, remote_port = 0;
  uid_t uid = 0;
  uint64_t inode = 0;
};

// The kernel prints addresses as words of 32 bits in the host's byte order.
bool parse_address(const char* hex, IpAddress* out) {
  const size_t digits = std::strlen(hex);
  if (digits != 8 && digits != 32) return false;
  *out = IpAddress();
  if (digits == 8) out->bytes[10] = out->bytes[11] = 0xFF;
  uint8_t* to = out->bytes.data() + (digits == 8 ? 12 : 0);
  for (size_t i = 0; i < digits; i += 8, to += 4) {
    uint32_t word = 0;
    if (std::sscanf(hex + i, "%8" SCNx32, &word) != 1) return false;
    std::memcpy(to, &word, sizeof word);
  }
  return true;
}

template <typename Wanted>
std::optional<Entry> find(const char* protocol, const Wanted& wanted) {
  for (const char* version : {"", "6"}) {
    std::ifstream table(std::string("/proc/net/") + protocol + version);
    std::string line;
    std::getline(table, line);  // the heading
    while (std::getline(table, line)) {
      char local[33] = {}, remote[33] = {};
      unsigned local_port = 0, remote_port = 0, uid = 0;
      Entry e;
      if (std::sscanf(line.c_str(), " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %u %*d %" SCNu64,
                      local, &local_port, remote, &remote_port, &uid, &e.inode) != 6 ||
          !parse_address(local, &e.local))
        continue;
      e.local_port = static_cast<uint16_t>(local_port);
      e.remote_port = static_cast<uint16_t>(remote_port);
      e.uid = uid;
      if (wanted(e)) return e;
    }
  }
  return std::nullopt;
}

bool is_any(const IpAddress& a) {
  static const IpAddress any4 = IpAddress::v4(0, 0, 0, 0);
  return a.is_zero() || a == any4;
}

// The process that has the socket open; 0 if /proc does not reveal it.
pid_t process_of(uint64_t inode) {
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  Folder processes("/proc");
  pid_t found = 0;
  while (const dirent* process = found == 0 ? processes.next() : nullptr) {
    const pid_t pid = static_cast<pid_t>(std::strtol(process->d_name, nullptr, 10));
    if (pid <= 0) continue;
    const std::string folder = std::string("/proc/") + process->d_name + "/fd";
    Folder files(folder.c_str());
    while (const dirent* file = files.next()) {
      char target[64] = {};
      if (::readlink((folder + "/" + file->d_name).c_str(), target, sizeof target - 1) > 0 && wanted == target)
        found = pid;
    }
  }
  return found;
}

std::optional<Holder> holder_of_port(const char* protocol, const IpAddress& address, uint16_t port) {
  const auto is_wanted = [&](const Entry& e) {
    return e.local_port == port && e.remote_port == 0 && (e.local == address || is_any(e.local) || is_any(address));
  };
  // The kernel prints the table in pieces and passes over entries when others end meanwhile.
  std::optional<Entry> entry = find(protocol, is_wanted);
  for (int again = 0; !entry && again < 4; ++again) entry = find(protocol, is_wanted);
  if (!entry) return std::nullopt;
  return Holder{entry->uid, process_of(entry->inode)};
}

}  // namespace

std::optional<Holder> holder_of_udp_port(const IpAddress& address, uint16_t port) {
  return holder_of_port("udp", address, port);
}

std::optional<Holder> holder_of_tcp_port(const IpAddress& address, uint16_t port) {
  return holder_of_port("tcp", address, port);
}

std::optional<Holder> holder_of_unix_name(const sockaddr_un& name, socklen_t length, int type) {
  const Fd fd(::socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return std::nullopt;
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), length) == 0 &&
                     ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!known) return std::nullopt;
  return Holder{peer.uid, peer.pid};
}

std::optional<Holder> holder_of_file(const std::string& path) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) return std::nullopt;
  return Holder{s.st_uid, 0};
}

std::optional<Holder> holder_of_lock(int fd) {
  struct stat s {};
  if (::fstat(fd, &s) != 0) return std::nullopt;
  std::ifstream table("/proc/locks");
  for (std::string line; std::getline(table, line);) {
    int pid = 0;
    unsigned major_number = 0, minor_number = 0;
    uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%*d: FLOCK %*s %*s %d %x:%x:%" SCNu64, &pid, &major_number, &minor_number, &inode) !=
            4 ||
        inode != s.st_ino || major_number != major(s.st_dev) || minor_number != minor(s.st_dev))
      continue;
    const auto process = holder_of_file("/proc/" + std::to_string(pid));
    if (process) return Holder{process->uid, pid};
  }
  return std::nullopt;
}

// A connection that its user has closed has no inode, and the kernel names root as its user.
std::optional<uid_t> user_of_connection(const IpAddress& address, uint16_t port, uint16_t to) {
  const auto entry = find("tcp", [&](const Entry& e) {
    return e.local_port == port && e.remote_port == to && e.local == address && e.inode != 0;
  });
  return entry ? std::optional(entry->uid) : std::nullopt;
}

std::string taken_by(const std::optional<Holder>& holder) {
  if (!holder) return "";
  std::string text = ", taken by user " + std::to_string(holder->uid);
  if (holder->pid == 0) return text;
  text += ", process " + std::to_string(holder->pid);
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(holder->pid) + "/comm"), name);
  return name.empty() ? text : text + " (" + name + ")";
}

}  // namespace mrc::datapath
