// mrc-info: what MRC devices this host has, how they are configured, and what can be configured.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "command_line.h"
#include "devices.h"
#include "params.h"
#include "processes.h"

namespace {

constexpr const char* kAbout =
    "Shows the software MRC devices of this host, their planes, addresses and limits, and every setting.\n"
    "Without a configuration there is one device, mrc0, with four planes on loopback.\n";

constexpr const char* kMore =
    "\nExamples:\n"
    "  mrc-info                          devices, planes, GIDs, limits, and what this host should raise\n"
    "  mrc-info --params                 every setting: value in force, default, range, meaning\n"
    "  mrcd --help                       the settings of mrcd alone\n"
    "  mrc-info --stats                  the counters of every process that has a device open\n"
    "  mrc-info --json | jq '.devices[0].planes'\n"
    "  MRC_CONFIG=lab.yaml mrc-info      checks a configuration file: exit code 1 and a sentence when it is refused\n"
    "\nConfiguration: the file that MRC_CONFIG names, else /etc/mrc/mrc.yaml where it exists. A variable "
    "MRC_<SETTING>\n"
    "goes over the file. A host with two planes whose addresses follow one pattern:\n"
    "\n"
    "  devices:\n"
    "    - name: mrc0\n"
    "      planes:                       # in order; an address of this host, or an interface, or both\n"
    "        - {address: 'fd00:0:1::7'}\n"
    "        - {interface: eth2}\n"
    "      peers:\n"
    "        template: 'fd00:0:{plane}::{host}'    # {host}: the same 16 bits of the peer's GID\n"
    "\n"
    "Counters are those of one process. A program reads its own with mrc_soft_query_stats; --stats queries every process\n"
    "of this user (root: of all users) that publishes them, which MRC_PUBLISH= (empty) turns off.\n"
    "Exit code 0: all is well; 1: the configuration is refused, or a device does not exist or start; 2: bad command "
    "line.\n";

// The grammar of MRC_FAULT comes from the library, so that it is the one that the library reads.
std::string fault_help() {
  try {
    for (const auto& row : mrc::info::describe_params())
      if (row.contains("help")) return "\n" + row["help"].get<std::string>();
  } catch (const std::exception&) {
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{kAbout};
  app.footer([] { return std::string(kMore) + fault_help(); });
  std::string device;
  bool params = false, stats = false, evs = false, suggest = false, json = false;
  app.add_option("-d,--device", device, "Only this device");
  app.add_flag("-p,--params", params, "Every setting with value, default, range and meaning");
  app.add_flag("-s,--stats", stats, "Every process that has a device open, with its counters");
  app.add_flag("-e,--evs", evs, "Also list the entropy values");
  app.add_flag("--suggest", suggest,
               "A configuration file for this host, of the interfaces that MRC_INTERFACES chooses (auto)");
  app.add_flag("--json", json, "Everything, as one JSON object");
  if (const auto status = mrc::support::parse_command_line(&app, "mrc-info", argc, argv)) return *status;
  try {
    if (suggest) {
      // What is configured is of no concern here, be it refused.
      setenv("MRC_CONFIG", "/dev/null", 1);
      setenv("MRC_INTERFACES", "auto", 0);
      mrc::info::print_suggestion(mrc::info::describe_devices(device));
    } else if (json) {
      // Before this process opens devices itself.
      const mrc::info::Json processes = mrc::info::running_processes(mrc::info::setting("publish"), device);
      const mrc::info::Json devices = mrc::info::describe_devices(device);
      const mrc::info::Json all = {{"devices", devices},
                                   {"params", mrc::info::params_of(devices.front(), mrc::info::describe_params())},
                                   {"processes", processes}};
      std::printf("%s\n", all.dump(2).c_str());
    } else if (params) {
      // A refused configuration must not pass for the defaults.
      const mrc::info::Json devices = mrc::info::describe_devices(device);
      mrc::info::print_params(mrc::info::describe_params(), devices);
    } else if (stats) {
      const mrc::info::Json processes = mrc::info::running_processes(mrc::info::setting("publish"), device);
      // A process that was started with another configuration may have devices that this one lacks.
      if (processes.empty()) mrc::info::check_name(device);
      mrc::info::print_processes(processes);
    } else {
      mrc::info::print_devices(mrc::info::describe_devices(device), evs);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrc-info: %s\n", e.what());
    return 1;
  }
  return 0;
}
