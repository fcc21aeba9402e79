// mrcctl: shows and changes the controller side of this host's MRC devices. Exit status 0: success, 1: the checked
// state at is not as it should be, 2: bad usage or an error.
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "command_line.h"
#include "commands.h"
#include "device.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app{
      "Shows and controls the controller side of this host's MRC devices. Changes for all processes of the host go\n"
      "through mrcd; `probe` and `ev expand` need no daemon. man mrcctl has examples."};
  app.require_subcommand(1);
  mrcctl::Common common;
  app.add_flag("--json", common.json, "Machine-readable output");
  app.add_option("--socket", common.socket, "Socket of mrcd (default: the setting mrcd_socket)");
  app.fallthrough();  // these may be anywhere
  std::map<const CLI::App*, mrcctl::Command> commands;
  mrcctl::add_show_commands(&app, &common, &commands);
  mrcctl::add_change_commands(&app, &common, &commands);
  mrcctl::add_probe_commands(&app, &common, &commands);
  if (const auto status = mrc::support::parse_command_line(&app, "mrcctl", argc, argv)) return *status;
  for (const auto& [parsed, command] : commands)
    if (*parsed) return command();
  return mrcctl::kBad;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrcctl: %s\n", e.what());
    return mrcctl::kBad;
  }
}
