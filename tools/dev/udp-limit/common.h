// mrc-udp-limit: the raw limit that mrc-perf is compared with. Two processes, plain UDP sockets, GSO and GRO, the
// packet size of MRC, one copy at the receiver into a large buffer, a credit window per plane so that what is reported
// is what arrived; and a ping-pong of two bytes with both sides polling.
//
// Its options are other ways to move the same bytes: what the engine does (--staged, --crc), and what it could do.
// `try` beside this file alternates them with the plain way, so that one run tells whether one is worth building into
// it.
//
// Packets: a data burst starts with a Header; two bytes alone are a ping.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "credit_transfer.h"
#include "fd.h"

namespace udp_limit {

using mrc::tools::cpu_seconds;
using mrc::tools::now_ns;
using Kind = mrc::tools::TransferKind;
using Header = mrc::tools::TransferMessage;

struct Options {
  bool server = false;
  bool once = false;
  bool json = false;
  bool latency = false;
  bool slices = false;
  std::vector<std::string> addresses{"127.0.0.1"};  // one for all planes, or one per plane
  uint16_t port = 18600;                            // plane p uses port + p
  uint32_t planes = 4;
  uint32_t sources = 1;         // sending sockets per plane
  uint32_t size = 4096 + 48;    // UDP payload per packet
  uint32_t burst = 15;          // packets per send
  uint32_t window = 1u << 20;   // bytes in flight per plane
  uint64_t memory = 16u << 20;  // bytes sent from and copied into, cyclically
  double seconds = 2;
  // Of both ends.
  bool huge = false;
  std::string crc = "none";  // a word of crc.h
  bool busy_poll = false;    // otherwise as net.core.busy_read has it
  // Of the sender (outgoing.h).
  bool staged = false;
  bool pieces = false;
  bool zerocopy = false;
  // Of the receiver.
  std::string place = "copy";  // arrival.h
  uint32_t credits = 1;        // messages of each credit: as many queue pairs would be acknowledged
  bool sendmmsg = false;       // by one system call
};

union Address {
  sockaddr sa;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// Exits with a message when the text is no address.
Address make_address(const std::string& text, uint16_t port, socklen_t* length);
const std::string& address_of_plane(const Options& options, uint32_t plane);

// A non-blocking UDP socket with large buffers; GRO when `receive`. Exits with a message when it cannot be had.
mrc::Fd open_socket(const Options& options, int family, bool receive);

[[noreturn]] void fail(const std::string& what);

int run_server(const Options& options);
int run_client(const Options& options);

}  // namespace udp_limit
