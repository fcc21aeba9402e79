// mrcd: keeps the state shared by the processes of a host for their MRC devices, and monitors the fabric. man mrcd.
// Exit status 0: ended by a signal, 1: another instance is running, 2: bad usage or an error.
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "command_line.h"
#include "daemon.h"
#include "settings.h"

namespace {

constexpr int kBusy = 1, kBad = 2;

int run(int argc, char** argv) {
  CLI::App app{
      "Holds the state that the processes of this host share for their MRC devices: profiles, denied paths, port\n"
      "states. Processes find it by the setting mrcd_socket and continue without it when it has ended. mrcctl queries\n"
      "and controls it. Settings come from the configuration file and the environment like those of every MRC program\n"
      "(mrc-info --params); those of mrcd alone are listed below. The options override them."};
  app.footer([] { return "\n" + mrc::mrcd::settings_help(); });
  mrc::mrcd::Options options;
  app.add_option("--socket", options.socket, "Unix socket to listen on; @NAME: abstract (setting mrcd_socket)");
  app.add_option("--state", options.state, "File that keeps profiles over a restart (setting state of mrcd)");
  app.add_flag("--verbose,-v", options.verbose, "Log to stderr");
  if (const auto status = mrc::support::parse_command_line(&app, "mrcd", argc, argv)) return *status;
  mrc::mrcd::Daemon daemon;
  if (const mrc::Status started = daemon.start(options); !started) {
    std::fprintf(stderr, "mrcd: %s\n", started.error().text.c_str());
    return started.error().code == EALREADY ? kBusy : kBad;
  }
  daemon.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mrcd: %s\n", e.what());
    return kBad;
  }
}
