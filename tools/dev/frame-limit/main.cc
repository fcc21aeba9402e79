// mrc-xdp-limit and mrc-rte-limit: what bare AF_XDP sockets and bare DPDK ports move between two processes, the limits
// for the raw and the DPDK datapath of MRC.
#include <cerrno>

#include "command_line.h"
#include "frames.h"

namespace {

void declare_options(CLI::App* to, frame_limit::Options* o) {
  to->add_option("--port", o->ports,
                 "Interface or DPDK device arguments of a plane, once per plane; nothing else may use it")
      ->required();
  to->add_option("--eal", o->eal, "Arguments of DPDK's environment")->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = frame_limit::kKind, name = frame_limit::kProgram;
  CLI::App app(
      "What bare " + kind + " moves between two processes here, with frames as of MRC. Start the server first.", name);
  frame_limit::Options options;
  app.require_subcommand(1);
  CLI::App* const server = app.add_subcommand("server", "Serves one client after the other");
  declare_options(server, &options);
  CLI::App* const client = app.add_subcommand("client", "Measures and prints one JSON object");
  declare_options(client, &options);
  client->add_option("--payload", options.payload, "Bytes of a frame behind 62 of headers and 48 of a message")
      ->check(mrc::support::in_range(1, 8000))
      ->capture_default_str();
  client->add_option("--window", options.window, "Bytes in flight per plane")
      ->check(mrc::support::in_range(65536, 1 << 30))
      ->capture_default_str();
  client->add_option("--memory", options.memory, "Bytes of memory sent from and copied into, cyclically")
      ->check(mrc::support::in_range(uint64_t{65536}, uint64_t{1} << 36))
      ->capture_default_str();
  client->add_option("--seconds", options.seconds, "Duration")
      ->check(mrc::support::in_range(0.001, 86400.0))
      ->capture_default_str();
  client->add_flag("--slices", options.slices,
                   "Stay up; each line on standard input, a number of seconds or empty, measures for that long and "
                   "prints one JSON line");
  if (const auto status = mrc::support::parse_command_line(&app, name, argc, argv)) return *status;
  errno = 0;
  return server->parsed() ? frame_limit::run_server(options) : frame_limit::run_client(options);
}
