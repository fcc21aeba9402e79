#include "http_origin.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/ip.h"
#include "datapath/holder.h"

namespace mrc::mrcd {

namespace {

struct TcpEnd {
  IpAddress address;
  uint16_t port = 0;
};

using NameOf = int (*)(int, sockaddr*, socklen_t*);

std::optional<TcpEnd> end_of(int socket, NameOf name_of) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (name_of(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0) return std::nullopt;
  if (at.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &at, sizeof v4);
    uint8_t bytes[4];
    std::memcpy(bytes, &v4.sin_addr, sizeof bytes);
    return TcpEnd{IpAddress::v4(bytes[0], bytes[1], bytes[2], bytes[3]), ntohs(v4.sin_port)};
  }
  sockaddr_in6 v6;
  std::memcpy(&v6, &at, sizeof v6);
  TcpEnd end{{}, ntohs(v6.sin6_port)};
  std::memcpy(end.address.bytes.data(), &v6.sin6_addr, end.address.bytes.size());
  return end;
}

bool is_loopback(const IpAddress& address) {
  IpAddress loopback;
  loopback.bytes.back() = 1;
  return address == loopback || address.is_loopback_v4();
}

}  // namespace

std::optional<std::string> origin_of(int socket) {
  const auto peer = end_of(socket, ::getpeername), own = end_of(socket, ::getsockname);
  if (!peer || !own) return std::nullopt;
  if (is_loopback(peer->address) || peer->address == own->address)
    if (const auto user = datapath::user_of_connection(peer->address, peer->port, own->port))
      return "user " + std::to_string(*user);
  if (peer->address.is_v4()) return peer->address.to_string();
  IpAddress network = peer->address;
  std::fill(network.bytes.begin() + 8, network.bytes.end(), uint8_t{0});
  return network.to_string() + "/64";
}

}  // namespace mrc::mrcd
