#include <getopt.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common.h"

namespace {

constexpr const char* kHelp =
    R"(mrc-udp-limit: what plain UDP sockets move between two processes here, the limit for MRC over UDP.

  mrc-udp-limit server [options]        waits; one client at a time
  mrc-udp-limit client [options]        measures and prints

  --addr A[,A...]   server's addresses, one for all planes or one per plane (127.0.0.1; IPv6 works as well)
  --port N          UDP port of plane 1, the others follow (18600)
  --planes N        sockets at the receiver (4)
  --sources N       sending sockets per plane (1)
  --size N          UDP payload of a packet in bytes (4144: 4096 and 48 of headers)
  --burst N         packets per send, by GSO (15)
  --window N        bytes in flight per plane (1048576)
  --memory N        bytes of memory sent from and copied into, cyclically (16777216)
  --seconds S       duration (2)
  --latency         ping-pong of 2 bytes, both sides polling: half round trip
  --once            server: exit after the first client
  --json            one JSON object on standard output
)";

unsigned long long number(const char* name, const char* text, unsigned long long low, unsigned long long high) {
  char* end = nullptr;
  errno = 0;
  unsigned long long value = std::strtoull(text, &end, 10);
  if (errno != 0 || *text == '\0' || *end != '\0' || value < low || value > high) {
    errno = 0;
    udp_limit::fail(std::string("--") + name + " takes a number from " + std::to_string(low) + " to " +
                    std::to_string(high) + ", not " + text);
  }
  return value;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t comma = text.find(','); comma != std::string::npos; comma = text.find(',', from)) {
    parts.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  parts.push_back(text.substr(from));
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  udp_limit::Options options;
  if (argc < 2 || std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0) {
    std::fputs(kHelp, argc < 2 ? stderr : stdout);
    return argc < 2 ? 2 : 0;
  }
  errno = 0;
  if (std::strcmp(argv[1], "server") == 0) {
    options.server = true;
  } else if (std::strcmp(argv[1], "client") != 0) {
    udp_limit::fail(std::string("expected server or client, got ") + argv[1]);
  }
  enum {
    kAddr = 1,
    kPort,
    kPlanes,
    kSources,
    kSize,
    kBurst,
    kWindow,
    kMemory,
    kSeconds,
    kLatency,
    kOnce,
    kJson,
    kHelpOption
  };
  const option names[] = {
      {"addr", 1, nullptr, kAddr},       {"port", 1, nullptr, kPort},     {"planes", 1, nullptr, kPlanes},
      {"sources", 1, nullptr, kSources}, {"size", 1, nullptr, kSize},     {"burst", 1, nullptr, kBurst},
      {"window", 1, nullptr, kWindow},   {"memory", 1, nullptr, kMemory}, {"seconds", 1, nullptr, kSeconds},
      {"latency", 0, nullptr, kLatency}, {"once", 0, nullptr, kOnce},     {"json", 0, nullptr, kJson},
      {"help", 0, nullptr, kHelpOption}, {nullptr, 0, nullptr, 0}};
  optind = 2;
  for (int c; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    switch (c) {
      case kAddr:
        options.addresses = split(optarg);
        break;
      case kPort:
        options.port = static_cast<uint16_t>(number("port", optarg, 1, 65000));
        break;
      case kPlanes:
        options.planes = static_cast<uint32_t>(number("planes", optarg, 1, 32));
        break;
      case kSources:
        options.sources = static_cast<uint32_t>(number("sources", optarg, 1, 1024));
        break;
      case kSize:
        options.size = static_cast<uint32_t>(number("size", optarg, 40, 65487));
        break;
      case kBurst:
        options.burst = static_cast<uint32_t>(number("burst", optarg, 1, 64));
        break;
      case kWindow:
        options.window = static_cast<uint32_t>(number("window", optarg, 65536, 1u << 30));
        break;
      case kMemory:
        options.memory = number("memory", optarg, 65536, 1ull << 36);
        break;
      case kSeconds:
        options.seconds = std::atof(optarg);
        break;
      case kLatency:
        options.latency = true;
        break;
      case kOnce:
        options.once = true;
        break;
      case kJson:
        options.json = true;
        break;
      case kHelpOption:
        std::fputs(kHelp, stdout);
        return 0;
      default:
        return 2;
    }
  }
  if (optind != argc) udp_limit::fail(std::string("unexpected argument ") + argv[optind]);
  if (options.seconds <= 0) udp_limit::fail("--seconds must be above 0");
  if (options.addresses.size() != 1 && options.addresses.size() != options.planes)
    udp_limit::fail("--addr takes one address, or one per plane");
  return options.server ? udp_limit::run_server(options) : udp_limit::run_client(options);
}
