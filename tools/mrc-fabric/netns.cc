// Network namespaces by name, as `ip netns` keeps them: a file in /run/netns on which the namespace is mounted.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "command.h"
#include "fd.h"
#include "folder.h"
#include "topology.h"

namespace mrc::fabric {
namespace {

constexpr const char* kNetnsFolder = "/run/netns/";

std::vector<std::string> entries(const char* folder) {
  std::vector<std::string> names;
  Folder opened(folder);
  while (const dirent* e = opened.next())
    if (e->d_name[0] != '.') names.push_back(e->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

void set_netns(int fd, const std::string& what) {
  if (setns(fd, CLONE_NEWNET) != 0) throw FabricError("entering " + what + ": " + std::strerror(errno));
}

std::vector<pid_t> processes_in(const std::set<ino_t>& namespaces) {
  std::vector<pid_t> found;
  for (const std::string& name : entries("/proc")) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    struct stat s;
    if (stat(("/proc/" + name + "/ns/net").c_str(), &s) == 0 && namespaces.count(s.st_ino) != 0)
      found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

}  // namespace

bool netns_exists(const std::string& name) {
  return access((kNetnsFolder + name).c_str(), F_OK) == 0;
}

std::vector<std::string> netns_list() {
  return entries(kNetnsFolder);
}

void netns_remove(const std::string& name) {
  const std::string path = kNetnsFolder + name;
  umount2(path.c_str(), MNT_DETACH);  // fails where `ip netns add` was killed before it mounted
  if (unlink(path.c_str()) != 0 && errno != ENOENT) throw FabricError("removing " + path + ": " + std::strerror(errno));
}

void enter_netns(const std::string& name) {
  const Fd fd(open((kNetnsFolder + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw FabricError("namespace " + name + ": " + std::strerror(errno));
  set_netns(fd.get(), name);
}

void inside_netns(const std::string& name, const std::function<void()>& work) {
  const Fd home(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home) throw FabricError(std::string("/proc/self/ns/net: ") + std::strerror(errno));
  const auto back = [&] { set_netns(home.get(), "the namespace we came from"); };
  enter_netns(name);
  try {
    work();
  } catch (...) {
    back();
    throw;
  }
  back();
}

size_t end_processes(const std::vector<std::string>& netns) {
  std::set<ino_t> inodes;
  struct stat own, s;
  if (stat("/proc/self/ns/net", &own) != 0) return 0;
  for (const std::string& name : netns)
    if (stat((kNetnsFolder + name).c_str(), &s) == 0 && s.st_ino != own.st_ino) inodes.insert(s.st_ino);
  if (inodes.empty()) return 0;
  std::vector<pid_t> left = processes_in(inodes);
  const size_t count = left.size();
  for (const pid_t pid : left) kill(pid, SIGTERM);
  for (int tenths = 0; !left.empty() && tenths < 20; ++tenths) {
    usleep(100000);
    left = processes_in(inodes);
    if (tenths >= 10)
      for (const pid_t pid : left) kill(pid, SIGKILL);
  }
  return count;
}

}  // namespace mrc::fabric
