#include "device/interfaces.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <set>

namespace mrc::device {

namespace {

struct FreeList {
  void operator()(ifaddrs* list) const { ::freeifaddrs(list); }
};
using List = std::unique_ptr<ifaddrs, FreeList>;

List interfaces() {
  ifaddrs* list = nullptr;
  return List(::getifaddrs(&list) == 0 ? list : nullptr);
}

bool address_of(const ifaddrs& entry, IpAddress* out) {
  if (entry.ifa_addr == nullptr) return false;
  if (entry.ifa_addr->sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, entry.ifa_addr, sizeof(in));
    uint8_t a[4];
    std::memcpy(a, &in.sin_addr, 4);
    *out = IpAddress::v4(a[0], a[1], a[2], a[3]);
    return true;
  }
  if (entry.ifa_addr->sa_family != AF_INET6) return false;
  sockaddr_in6 in6;
  std::memcpy(&in6, entry.ifa_addr, sizeof(in6));
  std::memcpy(out->bytes.data(), &in6.sin6_addr, 16);
  return true;
}

int rank(const IpAddress& ip) {
  return ip.is_v4() ? 2 : is_link_local(ip) ? 1 : 3;
}

}  // namespace

bool is_link_local(const IpAddress& ip) {
  return ip.bytes[0] == 0xFE && (ip.bytes[1] & 0xC0) == 0x80;
}

bool address_of_interface(const std::string& name, IpAddress* out) {
  const List list = interfaces();
  int best = 0;
  for (const ifaddrs* i = list.get(); i != nullptr; i = i->ifa_next) {
    IpAddress ip;
    if (name != i->ifa_name || !address_of(*i, &ip) || rank(ip) <= best) continue;
    best = rank(ip);
    *out = ip;
  }
  return best > 0;
}

std::string interface_of_address(const IpAddress& ip) {
  const List list = interfaces();
  IpAddress other;
  for (const ifaddrs* i = list.get(); i != nullptr; i = i->ifa_next)
    if (address_of(*i, &other) && other == ip) return i->ifa_name;
  return "";
}

double card_speed_gbps(const std::string& interface, const std::string& sysfs) {
  const std::string folder = sysfs + "/" + interface;
  if (interface.empty() || ::access((folder + "/device").c_str(), F_OK) != 0) return 0;  // veth has a speed, too
  std::ifstream file(folder + "/speed");
  double mbps = 0;
  return file >> mbps && mbps > 0 ? mbps / 1000 : 0;
}

std::string interface_names() {
  const List list = interfaces();
  std::set<std::string> names;
  IpAddress ip;
  for (const ifaddrs* i = list.get(); i != nullptr; i = i->ifa_next)
    if (address_of(*i, &ip)) names.insert(i->ifa_name);
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool ipv6_loopback_works() {
  const int fd = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in6 addr{};
  addr.sin6_family = AF_INET6;
  addr.sin6_addr = in6addr_loopback;
  const bool works = ::bind(fd, reinterpret_cast<const sockaddr*>(&addr), sizeof(addr)) == 0;
  ::close(fd);
  return works;
}

}  // namespace mrc::device
