#include "command_line.h"
#include "commands.h"

namespace mrc::fabric {
namespace {

constexpr const char* kAbout =
    "Builds the multiplane two-tier fabric of a fabric file on this machine: hosts, T0s and T1s are network "
    "namespaces,\n"
    "links are veth pairs with rates, and the Linux kernel forwards SRv6 uSID lists as the switches do.\n";

constexpr const char* kMore =
    "\nA first lab (root needed):\n"
    "  mrc-fabric up tiny                        2 planes of 2 T0 and 2 T1, 8 hosts; `mrc-sim list` shows other "
    "fabrics\n"
    "  mrc-fabric exec h0 -- ip -6 route         a program on host h0; MRC programs find their configuration\n"
    "  mrc-fabric status                         links, rates, traffic, drops, faults\n"
    "  mrc-fabric trace h0 h4 0/1                plane 0 over T1 1, computed and observed\n"
    "  mrc-fabric fault link p0-t0-0:t1-1 down   and trace again\n"
    "  mrc-fabric fault loss h0:p1 5%            a gray link\n"
    "  mrc-fabric fault clear\n"
    "  mrc-fabric down\n"
    "\nWithout root: mrc-fabric render tiny --frr -o out; mrc-fabric trace --fabric tiny h0 h4\n"
    "\nNames: hosts h0, h1 ..; switches p0-t0-1 (plane 0, T0 number 1), p0-t1-0; ports NODE:PORT, such as h0:p1,\n"
    "p0-t0-1:t1-0. A link is named by either of its ports. Everything counts from 0.\n"
    "Namespaces are called LAB-NODE; LAB is the fabric's name unless --lab or MRC_LAB names another, so several labs\n"
    "can be up at the same time. `mrc-fabric down` also removes the remains of a killed command.\n"
    "Exit status: 0 done; 1 failed, or the fabric differs from its file; 2 bad command line or fabric file.\n";

const char* format_help(const std::string& format) {
  if (format == "linux") return "A shell script of iproute2 commands per switch and host";
  if (format == "frr") return "frr.conf of every switch: static routes and segments";
  if (format == "sonic") return "config_db.json of every switch";
  if (format == "hosts") return "mrc.yaml of every host";
  return "A drawing for Graphviz";
}

void declare_faults(CLI::App* fault, Options* o) {
  fault->require_subcommand(1);
  const auto kind = [&](const char* name, const char* sentence, const char* where) {
    CLI::App* c = fault->add_subcommand(name, sentence);
    c->add_option("where", o->where, where)->required();
    c->fallthrough();  // --lab and --json may follow at the end, too
    return c;
  };
  const auto state = [&](CLI::App* c) {
    c->add_option("state", o->state, "down or up")->required()->check(CLI::IsMember({"down", "up"}));
  };
  const char* link = "Either port of the link, such as h0:p1 or p0-t0-0:t1-1";
  state(kind("link", "A cable: both ends lose their carrier", link));
  state(kind("port", "A port taken down by its owner", "The port"));
  state(kind("switch", "A switch: all its ports", "Such as p0-t1-0"));
  CLI::App* flap = kind("flap", "A link goes down and comes back, again and again; ends up", link);
  flap->add_option("--down", o->down_time, "Time that it is down, such as 50ms");
  flap->add_option("--up", o->up_time, "Time that it is up");
  flap->add_option("-n,--count", o->count, "Number of times")->check(support::in_range(1, 1000000));
  CLI::App* loss = kind("loss", "Gray loss: drops a share of the packets in silence", link);
  loss->add_option("share", o->share, "Such as 5% or 0.05; 0 lifts it")->required();
  loss->add_option("--direction", o->direction, "up: towards the T1s; down: towards the hosts")
      ->check(CLI::IsMember({"up", "down", "both"}));
  kind("rate", "Another rate", link)->add_option("rate", o->rate, "Such as 100M")->required();
  CLI::App* clear = fault->add_subcommand("clear", "Lift faults")->fallthrough();
  clear->add_option("where", o->where, "Only this link, port or switch");
  fault->add_subcommand("list", "Faults in force")->fallthrough();
}

}  // namespace

void declare_commands(CLI::App* app, Options* o) {
  app->description(kAbout);
  app->name("mrc-fabric");
  app->require_subcommand(1);
  // On either side of the command. Not by fallthrough, which would consume words of the programs of `run` and `exec`;
  // and MRC_LAB is not CLI11's, which would have it win over the other side.
  const auto common = [&](CLI::App* to) {
    to->add_option("-l,--lab", o->lab, "Name of the lab, else that of MRC_LAB");
    to->add_flag("--json", o->json, "The result as JSON");
    return to;
  };
  common(app);
  const auto command = [&](const char* name, const char* sentence) {
    return common(app->add_subcommand(name, sentence));
  };
  const auto builds = [&](CLI::App* c) {
    c->add_option("fabric", o->fabric, "Name of a built-in fabric, or the path of a fabric file")->required();
    c->add_option("--scale", o->scale, "Factor of the links' rates, in place of the file's: 0.01 makes 100G 1G")
        ->check(support::in_range(1e-6, 1000.0));
    c->add_flag("--replace", o->replace, "Rebuild a lab of that name");
  };
  builds(command("up", "Build a lab; does nothing when it is up"));
  CLI::App* run = command("run", "Build a lab, run a program beside it, and remove the lab at the end of either");
  builds(run);
  run->prefix_command();
  run->footer("The program and its words follow the fabric: mrc-fabric run tiny -- mrc-fabric exec h0 -- ip link");
  command("down", "End the programs in a lab and remove it")->add_flag("--all", o->all, "Every lab");
  command("list", "Labs that are up");
  CLI::App* exec = command("exec", "Run a program on a host or switch");
  exec->add_option("node", o->node, "Such as h0 or p0-t0-1")->required();
  exec->prefix_command();
  exec->footer("The program and its words follow the node: mrc-fabric exec h0 -- mrc-perf h3");
  CLI::App* trace = command("trace", "The hops of a path: computed, and observed in the lab if it is up");
  trace->add_option("source", o->source, "Host")->required();
  trace->add_option("target", o->target, "Host")->required();
  trace->add_option("path", o->path,
                    "PLANE/T1, the number of an EV of the source's device, an EV as 0x0003:56938, a uSID list, or all");
  trace->add_option("--fabric", o->fabric, "Only compute, for this fabric; needs neither a lab nor root");
  trace->add_option("-n,--count", o->count, "Probes to send")->check(support::in_range(1, 100000));
  trace->add_option("--wait", o->wait_ms, "Longest time to wait for them, ms")->check(support::in_range(1, 60000));
  declare_faults(command("fault", "Make or clear a fault"), o);
  CLI::App* render = command("render", "The same fabric as configuration of switches and hosts, or as a drawing");
  render->add_option("fabric", o->fabric, "Name of a built-in fabric, or the path of a fabric file")->required();
  for (const char* format : {"linux", "frr", "sonic", "hosts", "dot"})
    render->add_flag_callback(
        std::string("--") + format, [o, format] { o->formats.push_back(format); }, format_help(format));
  render->add_option("--node", o->node, "Only this node");
  render->add_option("-o,--out", o->out, "Folder to write into, a file per node; else everything is printed");
  command("status", "Links with state, rate, traffic, drops; faults in force");
  app->footer(kMore);  // last: commands inherit what is set before them
}

}  // namespace mrc::fabric
