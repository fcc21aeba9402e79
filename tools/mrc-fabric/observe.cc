#include "observe.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>

#include "command.h"
#include "fd.h"

namespace mrc::fabric {
namespace {

constexpr size_t kIpHeader = 40, kUdpHeader = 8, kNonce = 16;
constexpr uint32_t kBatch = 64;          // probes between two polls of the watchers
constexpr int kWatcherBuffer = 4 << 20;  // a busy machine polls late

Fd opened(int fd) {
  if (fd < 0) throw FabricError(std::string("socket: ") + std::strerror(errno));
  return Fd(fd);
}

using Nonce = std::array<uint8_t, kNonce>;

// One packet socket in one namespace, and the names of the interfaces there.
struct Watcher {
  NodeId node;
  Fd socket;
  std::map<int, std::string> ports;
};

// IPv6, UDP, destination port: the rest of the traffic never leaves the kernel. Offsets are from the IPv6 header, since
// the socket is of type SOCK_DGRAM.
void filter_probes(int fd) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 3),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kIpHeader + 2),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kProbePort, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kIpHeader + kUdpHeader + kNonce),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
    throw FabricError(std::string("SO_ATTACH_FILTER: ") + std::strerror(errno));
}

Watcher watch(const LabState& state, const Topology& topology, const NodeId& node) {
  Fd made;
  std::map<int, std::string> ports;
  inside_netns(state.netns(node), [&] {
    // Protocol 0: deaf until it is filtered.
    made = opened(socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    for (const Link* l : topology.links_of(node)) {
      const std::string& name = Topology::end_at(*l, node).name;
      ports[static_cast<int>(if_nametoindex(name.c_str()))] = name;
    }
  });
  Watcher w{node, std::move(made), std::move(ports)};
  const int fd = w.socket.get();
  filter_probes(fd);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kWatcherBuffer, sizeof kWatcherBuffer);
  sockaddr_ll all{};
  all.sll_family = AF_PACKET;
  all.sll_protocol = htons(ETH_P_ALL);  // ETH_P_IPV6 would not show sent packets
  if (bind(fd, reinterpret_cast<sockaddr*>(&all), sizeof all) != 0)
    throw FabricError(std::string("packet socket: ") + std::strerror(errno));
  return w;
}

void collect(const Watcher& w, const Nonce& nonce, Observation* seen) {
  uint8_t packet[kIpHeader + kUdpHeader + kNonce];
  sockaddr_ll from{};
  socklen_t length = sizeof from;
  while (recvfrom(w.socket.get(), packet, sizeof packet, 0, reinterpret_cast<sockaddr*>(&from), &length) ==
         static_cast<ssize_t>(sizeof packet)) {
    const auto port = w.ports.find(from.sll_ifindex);
    if (port == w.ports.end() || std::memcmp(packet + kIpHeader + kUdpHeader, nonce.data(), kNonce) != 0) continue;
    auto& side = from.sll_pkttype == PACKET_OUTGOING ? seen->out : seen->in;
    ++side[node_name(w.node) + ":" + port->second];
  }
}

void send_probes(const LabState& state, const NodeId& source, const IpAddress& destination, const Nonce& nonce,
                 uint32_t count) {
  inside_netns(state.netns(source), [&] {
    const Fd out = opened(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const int one = 1;
    // The destination changes on the way, so a checksum over it could not be right everywhere.
    setsockopt(out.get(), IPPROTO_UDP, 101 /* UDP_NO_CHECK6_TX */, &one, sizeof one);
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(kProbePort);
    std::memcpy(&to.sin6_addr, destination.bytes.data(), 16);
    for (uint32_t i = 0; i < count; ++i)
      if (sendto(out.get(), nonce.data(), nonce.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to) < 0 &&
          errno != ECONNREFUSED && errno != ENOBUFS)
        throw FabricError("sending from " + node_name(source) + ": " + std::strerror(errno));
  });
}

}  // namespace

uint32_t count_at(const Observation& seen, const NodeId& node) {
  uint32_t count = 0;
  for (const auto& [port, packets] : seen.in)
    if (port.rfind(node_name(node) + ":", 0) == 0) count += packets;
  return count;
}

Observation observe(const LabState& state, const Topology& topology, uint32_t source, uint32_t target,
                    const NodeId& end, const IpAddress& destination, uint32_t count, uint32_t wait_ms) {
  std::vector<Watcher> watchers;
  const NodeId from{Role::kHost, 0, source}, to{Role::kHost, 0, target};
  for (const NodeId& n : topology.nodes())
    if (n.role == Role::kT0 || n.role == Role::kT1 || n == from || n == to || n == end)
      watchers.push_back(watch(state, topology, n));
  Nonce nonce{};
  if (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    throw FabricError("no random numbers");
  Observation seen;
  const auto look = [&] {
    for (const Watcher& w : watchers) collect(w, nonce, &seen);
  };
  for (uint32_t sent = 0; sent < count; sent += kBatch) {
    send_probes(state, from, destination, nonce, std::min(kBatch, count - sent));
    look();
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  for (;;) {
    look();
    if (count_at(seen, to) >= count || std::chrono::steady_clock::now() >= until) return seen;
    usleep(2000);
  }
}

}  // namespace mrc::fabric
