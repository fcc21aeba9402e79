#include "interface_requests.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "topology.h"

namespace mrc::fabric {
namespace {

ifreq request_of(const std::string& interface) {
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  return request;
}

}  // namespace

InterfaceRequests::InterfaceRequests() : fd_(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  if (!fd_) throw FabricError(std::string("socket: ") + std::strerror(errno));
}

void InterfaceRequests::turn_off(const std::string& interface, uint32_t feature) const {
  ethtool_value value{feature, 0};
  ifreq request = request_of(interface);
  request.ifr_data = reinterpret_cast<char*>(&value);
  if (ioctl(fd_.get(), SIOCETHTOOL, &request) != 0 && errno != EOPNOTSUPP)
    throw FabricError("offloads of " + interface + ": " + std::strerror(errno));
}

bool InterfaceRequests::can_send(const std::string& interface) const {
  ifreq request = request_of(interface);
  return ioctl(fd_.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) != 0 &&
         (request.ifr_flags & IFF_RUNNING) != 0;
}

}  // namespace mrc::fabric
