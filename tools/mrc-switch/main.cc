// mrc-switch: a switch in user space with queues, ECN marks and packet trimming, for the lab of mrc-fabric.
// Exit status: 0 done; 1 failed, or no switch replies; 2 bad command line or fabric file.
#include <signal.h>

#include <cstdio>

#include "append_item.h"
#include "command_line.h"
#include "daemon.h"
#include "lab.h"
#include "report.h"
#include "secure_environment.h"
#include "soft_switch.h"
#include "state.h"
#include "switch_client.h"

namespace {

using mrc::fabric::FabricError, mrc::fabric::UsageError;

constexpr const char* kAbout =
    "A switch in user space, as hardware has them: queues with limits, ECN marks, packet trimming with its own code\n"
    "points, priority for control packets. It forwards SRv6 uSID lists and plain IPv6 between the interfaces of its\n"
    "network namespace, by the static tables of a fabric file.\n";

constexpr const char* kMore =
    "\nUsually mrc-fabric starts it. In the fabric file:\n"
    "  switch: {trimming: true, queue: 1bdp, queue_last_hop: 1.5bdp, ecn_min: 0.2bdp, ecn_max: 0.8bdp, trim_bytes: "
    "128}\n"
    "  lab: {rate_scale: 0.01, mrc_switch: t0}       t0, t1, all, or a list such as [p0-t0-0, p1-t1-1]\n"
    "then:\n"
    "  mrc-fabric up FABRIC\n"
    "  mrc-switch show                               every mrc-switch of the lab: marked, trimmed, dropped, queues\n"
    "  mrc-switch show p0-t0-0 --json\n"
    "  mrc-fabric fault switch p0-t0-0 down          ends it; up starts it again\n"
    "\nWithout trimming (switch: {trimming: false}) it drops beyond drop_queue, and marks as before.\n"
    "Sizes in bdp are those of the fabric's real rates, so a lab at a hundredth of them is the fabric in slow motion.\n"
    "Exit status: 0 done; 1 failed, or no switch replies; 2 bad command line or fabric file.\n";

struct Options {
  std::string lab, fabric, node, socket;
  double tick_us = 0;
  std::vector<std::string> nodes;
  bool json = false;
};

int run(const Options& o) {
  const mrc::fabric::Topology topology(mrc::fabric::fabric_of(mrc::fabric::fabric_text(o.fabric, 0)));
  mrc::softswitch::DaemonOptions options;
  options.socket = o.socket.empty() ? "/run/mrc-switch-" + o.node + ".sock" : o.socket;
  options.tick = mrc::Duration::nanoseconds(static_cast<int64_t>(o.tick_us * 1000));
  mrc::softswitch::run_daemon(topology, mrc::fabric::node_config(topology, topology.node(o.node)), options);
  return 0;
}

// By path, or every one of the lab, or those named.
std::vector<std::pair<std::string, std::string>> sockets_of(const Options& o) {
  if (!o.socket.empty()) return {{o.socket, o.socket}};
  const mrc::fabric::LabState state(mrc::fabric::choose_lab(o.lab));
  const mrc::fabric::Topology topology(state.fabric());
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& name : o.nodes) topology.node(name);  // complains about what does not exist
  for (const mrc::fabric::NodeId& node : topology.nodes()) {
    const std::string name = mrc::fabric::node_name(node);
    const bool asked = std::find(o.nodes.begin(), o.nodes.end(), name) != o.nodes.end();
    if (mrc::fabric::is_soft_switch(topology.spec(), node) && (asked || o.nodes.empty()))
      found.push_back({name, mrc::fabric::switch_socket(state, node)});
    else if (asked)
      throw UsageError(name + " is not an mrc-switch; the fabric file defines which are (lab: mrc_switch)");
  }
  if (found.empty()) throw FabricError("lab '" + state.lab() + "' has no mrc-switch (fabric file, lab: mrc_switch)");
  return found;
}

int show(const Options& o) {
  int status = 0;
  std::string text;
  for (const auto& [name, path] : sockets_of(o)) {
    const auto answer = mrc::fabric::query_switch(path, "show");
    if (!answer) {
      std::fprintf(stderr, "mrc-switch: %s does not answer; `mrc-fabric fault switch %s up` starts it\n", name.c_str(),
                   name.c_str());
      status = 1;
    } else if (o.json) {
      mrc::append_item(&text, *answer, ",\n");
    } else {
      mrc::append_item(&text, mrc::softswitch::report_table(*answer), "\n");
    }
  }
  std::printf(o.json ? "[%s]\n" : "%s", text.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  CLI::App app(kAbout, "mrc-switch");
  Options o;
  app.require_subcommand(1);
  CLI::App* runs = app.add_subcommand("run", "Run the switch NODE of FABRIC, in the namespace that has its interfaces");
  runs->add_option("fabric", o.fabric, "Name of a built-in fabric, or the path of a fabric file")->required();
  runs->add_option("node", o.node, "Such as p0-t0-1")->required();
  runs->add_option("--socket", o.socket, "Path of the control socket (default /run/mrc-switch-NODE.sock)");
  runs->add_option("--tick", o.tick_us, "Sends at most every so many microseconds; 0: by the ports' rates, 50 to 250")
      ->capture_default_str()
      ->check(mrc::support::in_range(0.0, 10000.0));
  CLI::App* shows = app.add_subcommand("show", "Counters and queues of running switches");
  shows->add_option("node", o.nodes, "Only these");
  shows->add_option("-l,--lab", o.lab, "Name of the lab, else that of MRC_LAB");
  shows->add_option("--socket", o.socket, "One switch, by its control socket");
  shows->add_flag("--json", o.json, "A list of JSON objects");
  app.footer(kMore);
  if (const auto status = mrc::support::parse_command_line(&app, "mrc-switch", argc, argv)) return *status;
  if (const char* lab = mrc::environment::variable("MRC_LAB"); o.lab.empty() && lab != nullptr) o.lab = lab;
  try {
    return runs->parsed() ? run(o) : show(o);
  } catch (const mrc::sim::ConfigError& e) {
    std::fprintf(stderr, "mrc-switch: %s\n", e.what());
    return 2;
  } catch (const UsageError& e) {
    std::fprintf(stderr, "mrc-switch: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrc-switch: %s\n", e.what());
    return 1;
  }
}
