#include "processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "fd.h"
#include "json_text.h"

namespace mrc::info {

using tools::text_of;

namespace {

namespace fs = std::filesystem;

constexpr int kAnswerTimeoutMs = 1000;  // a process that is stopped, or whose child holds its socket, does not answer

// The folders of this user, or of all users for root; others are not read.
std::vector<fs::path> folders(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    struct stat s {};
    if (entry.path().filename().string().rfind("mrc-", 0) != 0 || ::lstat(entry.path().c_str(), &s) != 0) continue;
    const bool trusted = s.st_uid == ::geteuid() || ::geteuid() == 0;
    if (S_ISDIR(s.st_mode) && trusted && entry.path().filename() == "mrc-" + std::to_string(s.st_uid))
      found.push_back(entry.path());
  }
  return found;
}

// The process whose number the name begins with. One in another namespace counts as ended, so this proves nothing.
bool lives(const fs::path& path) {
  const auto pid = static_cast<pid_t>(std::strtol(path.filename().c_str(), nullptr, 10));
  return pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
}

// The report of the process behind this name; empty when there is none.
std::string ask(const fs::path& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof at.sun_path) return "";
  std::memcpy(at.sun_path, path.c_str(), path.native().size());
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return "";
  std::string text;
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    // A running process closes its device just now, and may open it again under this name.
    if (errno == ECONNREFUSED && !lives(path)) ::unlink(path.c_str());
  } else {
    char part[16384];
    pollfd wait = {fd.get(), POLLIN, 0};
    for (ssize_t n = 1; n > 0 && ::poll(&wait, 1, kAnswerTimeoutMs) == 1;) {
      n = ::read(fd.get(), part, sizeof part);
      if (n > 0) text.append(part, static_cast<size_t>(n));
    }
  }
  return text;
}

}  // namespace

Json running_processes(const std::string& folder, const std::string& only) {
  Json all = Json::array();
  if (folder.empty()) return all;
  for (const fs::path& own : folders(folder)) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(own, ignored)) {
      if (entry.path().filename().native()[0] == '.') continue;  // of a process that is not ready for requests
      Json process = Json::parse(ask(entry.path()), nullptr, false);
      if (!process.is_object() || !process.contains("counters")) continue;
      if (only.empty() || process.value("name", std::string()) == only) all.push_back(std::move(process));
    }
  }
  return all;
}

void print_processes(const Json& processes) {
  if (processes.empty()) std::printf("no process of this user has a device open and publishes its counters\n");
  for (const Json& p : processes) {
    std::printf("%s  process %s (%s), slot %s, %s QPs\n", text_of(p["name"]).c_str(), text_of(p["pid"]).c_str(),
                text_of(p["program"]).c_str(), text_of(p["process_slot"]).c_str(), text_of(p["qps"]).c_str());
    for (const Json& plane : p["planes"]) {
      std::printf("  plane %s:", text_of(plane["plane"]).c_str());
      for (const auto& [name, value] : plane.items())
        if (name != "plane" && value != "") std::printf(" %s %s", name.c_str(), text_of(value).c_str());
      std::printf("\n");
    }
    std::printf("  losses: packets sent on the plane and taken for lost: lost, trimmed, or merely late\n");
    for (const Json& c : p["counters"])
      std::printf("  %-26s %12s  %s\n", text_of(c["name"]).c_str(), text_of(c["value"]).c_str(),
                  text_of(c["sentence"]).c_str());
  }
}

}  // namespace mrc::info
