#include "command_line.h"
#include "sockets.h"

namespace {

constexpr const char* kAbout =
    "What TCP sockets move between two processes here, to compare MRC with. Start the server first.";

void declare_address(CLI::App* to, socket_limit::Options* o) {
  to->add_option("--addr", o->address, "Server's address")->capture_default_str();
  to->add_option("--port", o->port, "TCP port")->check(mrc::support::in_range(1, 65535))->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(kAbout, "mrc-socket-limit");
  socket_limit::Options o;
  app.require_subcommand(1);
  CLI::App* const server = app.add_subcommand("server", "Waits for clients, one at a time");
  declare_address(server, &o);
  server->add_flag("--once", o.once, "Exit after the first client");
  CLI::App* const client =
      app.add_subcommand("client", "Measures and prints one JSON line: bytes, seconds, CPU seconds");
  declare_address(client, &o);
  client->add_option("--streams", o.streams, "TCP connections")
      ->check(mrc::support::in_range(1U, socket_limit::kMaxStreams))
      ->capture_default_str();
  client->add_option("--size", o.size, "Bytes of a message")
      ->check(mrc::support::in_range(uint64_t{1}, socket_limit::kMaxSize))
      ->capture_default_str();
  auto* seconds = client->add_option("--seconds", o.seconds, "Duration")
                      ->check(mrc::support::in_range(0.01, 86400.0))
                      ->capture_default_str();
  client->add_flag("--latency", o.latency, "Ping-pong of 2 bytes over one stream, both sides polling: half round trip");
  client
      ->add_flag("--slices", o.slices,
                 "Stay up; each line on standard input, a number of seconds or empty, measures for that long and "
                 "prints one JSON line")
      ->excludes(seconds);
  if (const auto status = mrc::support::parse_command_line(&app, "mrc-socket-limit", argc, argv)) return *status;
  return server->parsed() ? socket_limit::run_server(o) : socket_limit::run_client(o);
}
