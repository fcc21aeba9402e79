#include <cerrno>

#include "command_line.h"
#include "common.h"
#include "crc.h"

namespace {

constexpr const char* kAbout =
    "What plain UDP sockets move between two processes here, the limit for MRC over UDP. Start the server first.";

void declare_options(CLI::App* to, udp_limit::Options* o) {
  to->add_option("--addr", o->addresses, "Server's addresses, one for all planes or one per plane")
      ->delimiter(',')
      ->capture_default_str();
  to->add_option("--port", o->port, "UDP port of plane 1, the others follow")
      ->check(mrc::support::in_range(1, 65000))
      ->capture_default_str();
  to->add_option("--planes", o->planes, "Sockets at the receiver")
      ->check(mrc::support::in_range(1, 32))
      ->capture_default_str();
  to->add_option("--sources", o->sources, "Sending sockets per plane")
      ->check(mrc::support::in_range(1, 1024))
      ->capture_default_str();
  to->add_option("--size", o->size, "UDP payload of a packet in bytes: 4096 and 48 of headers")
      ->check(mrc::support::in_range(48, 65487))
      ->capture_default_str();
  to->add_option("--burst", o->burst, "Packets per send, by GSO")
      ->check(mrc::support::in_range(1, 64))
      ->capture_default_str();
  to->add_option("--window", o->window, "Bytes in flight per plane")
      ->check(mrc::support::in_range(65536, 1 << 30))
      ->capture_default_str();
  to->add_option("--memory", o->memory, "Bytes of memory sent from and copied into, cyclically")
      ->check(mrc::support::in_range(uint64_t{65536}, uint64_t{1} << 36))
      ->capture_default_str();
  to->add_option("--seconds", o->seconds, "Duration")
      ->check(mrc::support::in_range(0.001, 86400.0))
      ->capture_default_str();
  to->add_flag("--latency", o->latency, "Ping-pong of 2 bytes, both sides polling: half round trip");
  to->add_flag("--huge", o->huge, "Memory in huge pages, those of the host or transparent ones");
  to->add_option("--crc", o->crc,
                 "CRC of each packet's payload: mrc: as the engine computes it; fold256, fold512: by registers of so "
                 "many bits, the copy included")
      ->check(CLI::IsMember(udp_limit::crc_words()))
      ->capture_default_str();
  to->add_flag(
      "--busy-poll", o->busy_poll,
      "SO_BUSY_POLL and SO_PREFER_BUSY_POLL: a receive that finds nothing polls the network card's queue, once, "
      "for it does not wait; needs CAP_NET_ADMIN");
  to->add_flag("--json", o->json, "One JSON object on standard output");
}

void declare_server_options(CLI::App* to, udp_limit::Options* o) {
  to->add_flag("--once", o->once, "Exit after the first client");
  to->add_option("--place", o->place,
                 "copy: from a buffer; scatter: each packet's payload is received where it is expected; leave: in the "
                 "buffer")
      ->check(CLI::IsMember({"copy", "scatter", "leave"}))
      ->capture_default_str();
  to->add_option("--credits", o->credits, "Messages for each credit, as that many queue pairs would be acknowledged")
      ->check(mrc::support::in_range(1, 64))
      ->capture_default_str();
  to->add_flag("--sendmmsg", o->sendmmsg, "The messages of a credit by one sendmmsg()");
}

void declare_client_options(CLI::App* to, udp_limit::Options* o) {
  to->add_flag("--slices", o->slices,
               "Stay up; each line on standard input, a number of seconds or empty, measures for that long and "
               "prints one JSON line");
  auto* const staged =
      to->add_flag("--staged", o->staged, "Copy the payload behind its headers into one buffer, as MRC does");
  auto* const pieces = to->add_flag("--pieces", o->pieces, "Headers and payload of each packet by iovecs of their own")
                           ->excludes(staged);
  // Together: a datagram that is not copied has 17 fragments at most, and the headers are written anew for each.
  to->add_flag("--zerocopy", o->zerocopy, "MSG_ZEROCOPY, with its completions from the error queue")
      ->excludes(staged)
      ->excludes(pieces);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(kAbout, "mrc-udp-limit");
  udp_limit::Options options;
  app.require_subcommand(1);
  CLI::App* const server = app.add_subcommand("server", "Waits for clients, one at a time");
  declare_options(server, &options);
  declare_server_options(server, &options);
  CLI::App* const client = app.add_subcommand("client", "Measures and prints");
  declare_options(client, &options);
  declare_client_options(client, &options);
  if (const auto status = mrc::support::parse_command_line(&app, "mrc-udp-limit", argc, argv)) return *status;
  options.server = server->parsed();
  errno = 0;  // fail() below is about the command line
  if (options.addresses.size() != 1 && options.addresses.size() != options.planes)
    udp_limit::fail("--addr takes one address, or one per plane");
  return options.server ? udp_limit::run_server(options) : udp_limit::run_client(options);
}
