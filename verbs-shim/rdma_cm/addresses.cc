#include "rdma_cm/addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>

#include "cm/ip_bytes.h"
#include "fd.h"

namespace mrc::shim::rdma_cm {

std::optional<cm::Address> from_sockaddr(const void* address, size_t size) {
  sockaddr_storage copy{};
  std::memcpy(&copy, address, std::min(size, sizeof copy));
  cm::Address a;
  if (copy.ss_family == AF_INET && size >= sizeof(sockaddr_in)) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&copy);
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), a.ip.begin());
    std::memcpy(&a.ip[12], &in->sin_addr, 4);
    a.port = ntohs(in->sin_port);
    return a;
  }
  if (copy.ss_family == AF_INET6 && size >= sizeof(sockaddr_in6) - 4) {  // the scope may be missing
    const auto* in6 = reinterpret_cast<const sockaddr_in6*>(&copy);
    std::memcpy(a.ip.data(), &in6->sin6_addr, 16);
    a.port = ntohs(in6->sin6_port);
    a.scope = in6->sin6_scope_id;
    return a;
  }
  return std::nullopt;
}

socklen_t to_sockaddr(const cm::Address& address, bool as_ipv6, sockaddr_storage* out) {
  std::memset(out, 0, sizeof *out);
  if (is_ipv4(address) && !as_ipv6) {
    auto* in = reinterpret_cast<sockaddr_in*>(out);
    in->sin_family = AF_INET;
    in->sin_port = htons(address.port);
    std::memcpy(&in->sin_addr, &address.ip[12], 4);
    return sizeof *in;
  }
  auto* in6 = reinterpret_cast<sockaddr_in6*>(out);
  in6->sin6_family = AF_INET6;
  in6->sin6_port = htons(address.port);
  std::memcpy(&in6->sin6_addr, address.ip.data(), 16);
  in6->sin6_scope_id = address.scope;
  return sizeof *in6;
}

bool is_ipv4(const cm::Address& address) {
  return is_mapped(address.ip.data());
}

bool is_any(const cm::Address& address) {
  return std::all_of(address.ip.begin() + (is_ipv4(address) ? 12 : 0), address.ip.end(),
                     [](uint8_t b) { return b == 0; });
}

cm::Address loopback(bool ipv4) {
  cm::Address a;
  a.ip[15] = 1;
  if (!ipv4) return a;
  std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), a.ip.begin());
  a.ip[12] = 127;
  return a;
}

int find_route(const cm::Address& remote, cm::Address* source) {
  const bool chosen = !is_any(*source);
  if (chosen && is_ipv4(*source) != is_ipv4(remote)) return EINVAL;
  cm::Address from = *source, to = remote;
  from.port = 0;
  to.port = 9;  // any but 0
  sockaddr_storage own, peer;
  socklen_t own_size = to_sockaddr(from, false, &own);
  const socklen_t peer_size = to_sockaddr(to, false, &peer);
  const Fd fd(socket(peer.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  if (chosen && bind(fd.get(), reinterpret_cast<sockaddr*>(&own), own_size) != 0) return errno;
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&peer), peer_size) != 0) return errno;
  if (chosen) return 0;
  own_size = sizeof own;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &own_size) != 0) return errno;
  const auto found = from_sockaddr(&own, own_size);
  if (!found) return EAFNOSUPPORT;
  source->ip = found->ip;
  source->scope = found->scope;
  return 0;
}

}  // namespace mrc::shim::rdma_cm
