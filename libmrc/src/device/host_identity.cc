#include "device/host_identity.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "fd.h"

namespace mrc::device {

namespace {

constexpr int kNamespaceCookie = 71;  // SO_NETNS_COOKIE, since Linux 5.14; not in every <sys/socket.h>

uint64_t hash(uint64_t seed, const std::string& text) {
  uint64_t h = seed ^ 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  // All bits depend on all others.
  h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
  return h ^ h >> 33;
}

// A number of the network namespace, of which no other one has it until the next boot; 0: unknown.
uint64_t network_namespace() {
  const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (fd && ::getsockopt(fd.get(), SOL_SOCKET, kNamespaceCookie, &cookie, &size) == 0) return cookie;
  struct stat file {};
  return ::stat("/proc/thread-self/ns/net", &file) == 0 ? file.st_ino : 0;
}

}  // namespace

uint64_t loopback_identity() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  const uint64_t network = network_namespace();
  if (!(file >> boot) || network == 0) return 0;
  return hash(network, boot);
}

bool is_loopback_gid(const IpAddress& gid) {
  static const std::vector<IpAddress> prefixes = loopback_gids(0);
  static const IpAddress loopback6 = IpAddress::parse("::1").value();
  const auto has_prefix = [&](const IpAddress& prefix, int bytes) {
    return std::equal(prefix.bytes.begin(), prefix.bytes.begin() + bytes, gid.bytes.begin());
  };
  return gid.is_loopback_v4() || gid == loopback6 || has_prefix(prefixes[0], 11) || has_prefix(prefixes[1], 8);
}

std::vector<IpAddress> loopback_gids(uint64_t identity) {
  const auto byte = [&](unsigned int i) { return static_cast<uint8_t>(identity >> 8 * i); };
  IpAddress link_local = IpAddress::parse("fe80::6d72:6300:0:0").value();
  IpAddress unique_local = IpAddress::parse("fd6d:7263::").value();
  for (unsigned int i = 0; i < 8; ++i) {
    unique_local.bytes[8 + i] = byte(i);
    if (i >= 3) link_local.bytes[8 + i] = byte(i);
  }
  // Not 127.0.0.0/16, in which hosts have their own name and services, nor anything that looks like a network's
  // address.
  const IpAddress v4 =
      IpAddress::v4(127, static_cast<uint8_t>(1 + byte(0) % 255), byte(1), static_cast<uint8_t>(1 + byte(2) % 254));
  return {link_local, unique_local, IpAddress(), v4};
}

}  // namespace mrc::device
