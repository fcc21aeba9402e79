#include "exec.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "command.h"
#include "guardian.h"

namespace mrc::fabric {
namespace {

constexpr int kNotFound = 127;

[[noreturn]] void become(const std::vector<std::string>& words) {
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(s, SIG_DFL);
  std::vector<char*> argv;
  for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  std::fprintf(stderr, "mrc-fabric: %s: %s\n", argv[0], std::strerror(errno));
  _exit(kNotFound);
}

void own_mounts(const LabState& state) {
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) != 0)
    throw FabricError(std::string("a mount namespace: ") + std::strerror(errno));
  umount2("/sys", MNT_DETACH);
  mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  // Both only make names and /sys nicer; a container that forbids them still runs the program.
  mount(state.names_file().c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr);
}

}  // namespace

void exec_on(const LabState& state, const Topology& topology, const std::string& name,
             const std::vector<std::string>& words) {
  const NodeId node = topology.node(name);
  enter_netns(state.netns(node));
  own_mounts(state);
  setenv("MRC_LAB", state.lab().c_str(), 1);
  if (node.role == Role::kHost) setenv("MRC_CONFIG", state.host_file(node.index).c_str(), 0);
  become(words);
}

int run_beside(const LabState& state, const std::vector<std::string>& words, const std::function<void()>& in_child) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw FabricError(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    in_child();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kNotFound);
    setenv("MRC_LAB", state.lab().c_str(), 1);
    become(words);
  }
  int status = 0;
  int passed = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    if (caught_signal() != passed) kill(child, passed = caught_signal());
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace mrc::fabric
