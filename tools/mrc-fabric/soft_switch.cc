#include "soft_switch.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "command.h"
#include "fault.h"
#include "interface_requests.h"
#include "switch_client.h"

namespace mrc::fabric {
namespace {

namespace fs = std::filesystem;

constexpr int kStartMs = 30000;  // a busy machine is slow

// In the same folder when installed, in the neighbouring folder of a build tree, else in PATH.
std::string switch_program() {
  std::error_code ignored;
  const fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& p : {folder / "mrc-switch", folder / ".." / "mrc-switch" / "mrc-switch"})
    if (fs::is_regular_file(p, ignored)) return p.string();
  return "mrc-switch";
}

std::string file_of(const LabState& state, const NodeId& node, const char* kind) {
  return state.folder() + "/" + node_name(node) + "." + kind;
}

[[noreturn]] void become_switch(const LabState& state, const NodeId& node, int out) {
  const std::string program = switch_program(), fabric = state.folder() + "/fabric.yaml", name = node_name(node),
                    socket = switch_socket(state, node), log = file_of(state, node, "log");
  setsid();
  const int null = open("/dev/null", O_RDWR);
  const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(null, 0);
  dup2(out, 1);
  dup2(errors, 2);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(s, SIG_DFL);
  close_range(3, ~0u, 0);  // the guardian and the lock of the lab must not wait for a switch
  try {
    enter_netns(state.netns(node));
  } catch (const FabricError& e) {
    dprintf(2, "%s\n", e.what());
    _exit(kCannotStart);
  }
  execlp(program.c_str(), "mrc-switch", "run", fabric.c_str(), name.c_str(), "--socket", socket.c_str(), nullptr);
  dprintf(2, "%s: %s\n", program.c_str(), std::strerror(errno));
  _exit(kCannotStart);
}

// It writes "ready" to its standard output.
bool wait_until_ready(int from) {
  char word[16];
  pollfd ready{from, POLLIN, 0};
  int n = 0;
  while ((n = poll(&ready, 1, kStartMs)) < 0 && errno == EINTR) {
  }
  return n > 0 && read(from, word, sizeof word) > 0;
}

void start(const LabState& state, const NodeId& node) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw FabricError(std::string("pipe: ") + std::strerror(errno));
  const Fd ready_end(ends[0]);
  Fd child_end(ends[1]);
  const pid_t child = fork();
  if (child < 0) throw FabricError(std::string("fork: ") + std::strerror(errno));
  if (child == 0) become_switch(state, node, child_end.get());
  child_end = Fd();
  write_text(file_of(state, node, "pid"), std::to_string(child) + "\n");
  const bool ready = wait_until_ready(ready_end.get());
  if (ready) return;
  kill(child, SIGKILL);
  throw FabricError(node_name(node) + ": mrc-switch does not start: " + read_text(file_of(state, node, "log")));
}

// Ended, or a zombie. Its command line disappears earlier than its sockets.
bool has_ended(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  const size_t state = stat.rfind(')') + 2;  // "PID (NAME) STATE ..."
  return state >= stat.size() || stat[state] == 'Z' || stat[state] == 'X';
}

// Only a process that still is that switch: numbers are used again.
void stop(const LabState& state, const NodeId& node) {
  const std::string text = read_text(file_of(state, node, "pid"));
  const int pid = std::atoi(text.c_str());
  const std::string of_process = "/proc/" + std::to_string(pid) + "/cmdline";
  if (pid <= 1 || read_text(of_process).rfind(std::string("mrc-switch\0run", 14), 0) != 0) return;
  kill(pid, SIGKILL);  // as a switch without power; nothing of it needs an orderly end
  for (int tries = 0; tries < 500 && !has_ended(pid); ++tries) usleep(2000);
}

}  // namespace

bool is_soft_switch(const FabricSpec& spec, const NodeId& node) {
  const std::vector<std::string>& named = spec.lab.mrc_switches;
  return (node.role == Role::kT0 && spec.lab.mrc_switch_t0) || (node.role == Role::kT1 && spec.lab.mrc_switch_t1) ||
         std::find(named.begin(), named.end(), node_name(node)) != named.end();
}

bool is_put_down(const Json& faults, const std::string& node) {
  const auto found = faults.find(node);
  return found != faults.end() && found->value("switch", "") == "down";
}

std::string switch_socket(const LabState& state, const NodeId& node) {
  return file_of(state, node, "sock");
}

NodeConfig kernel_part(NodeConfig node) {
  node.forwards = false;
  node.routes.erase(std::remove_if(node.routes.begin(), node.routes.end(),
                                   [](const RouteConfig& r) { return r.kind == RouteKind::kUn; }),
                    node.routes.end());
  for (InterfaceConfig& i : node.interfaces) i.rate = 0;
  return node;
}

void turn_off_offloads(const LabState& state, const Topology& topology) {
  const auto at = [&](const Port& port) {
    inside_netns(state.netns(port.node), [&] {
      const InterfaceRequests requests;
      for (const uint32_t what : {ETHTOOL_SGRO, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_STXCSUM})
        requests.turn_off(port.name, what);
    });
  };
  for (const Link& l : topology.links())
    if (is_soft_switch(topology.spec(), l.lower.node) || is_soft_switch(topology.spec(), l.upper.node)) {
      at(l.lower);
      at(l.upper);
    }
}

void keep_switches(const LabState& state, const Topology& topology, const Json& faults) {
  for (const NodeId& node : topology.nodes()) {
    if (!is_soft_switch(topology.spec(), node)) continue;
    const bool down = is_put_down(faults, node_name(node));
    if (!down && !switch_report(state, node).is_null()) continue;
    stop(state, node);
    if (down) continue;
    start(state, node);
    for (const Link* l : topology.links_of(node)) {
      const Port& port = Topology::end_at(*l, node);
      if (const double rate = condition_of(faults, *l, port).rate; rate > 0)
        set_switch_rate(state, node, port.name, rate);
    }
  }
}

void set_switch_rate(const LabState& state, const NodeId& node, const std::string& port, double bps) {
  const auto answer = query_switch(switch_socket(state, node), "rate " + port + " " + std::to_string(bps));
  if (answer && answer != "ok") throw FabricError(node_name(node) + ": " + *answer);
}

Json switch_report(const LabState& state, const NodeId& node) {
  const auto answer = query_switch(switch_socket(state, node), "show");
  return answer ? Json::parse(*answer) : Json();
}

}  // namespace mrc::fabric
