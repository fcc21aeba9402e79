#include "datapath/raw/xdp_plane.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstring>

namespace mrc::datapath {

namespace {

uint32_t receive_queues(const PacketSockets& sockets) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request{};
  std::strncpy(request.ifr_name, sockets.interface().name.c_str(), IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(&channels);
  if (::ioctl(sockets.ports().fd(), SIOCETHTOOL, &request) != 0) return 1;
  return std::max(channels.rx_count + channels.combined_count, 1u);
}

}  // namespace

Status XdpPlane::open(const PacketSockets& sockets, const IpAddress& address, uint32_t max_queues) {
  const uint32_t interface = sockets.interface().index;
  const uint32_t queues = std::min(receive_queues(sockets), max_queues);
  if (Status opened = program_.open(interface, queues, address, sockets.ports().port(), sockets.ports().second_port());
      !opened)
    return opened;
  const uint32_t largest_frame = sockets.interface().mtu + kEthernetBytes;
  for (uint32_t queue = 0; queue < queues; ++queue) {
    queues_.push_back(std::make_unique<Xsk>());
    if (Status opened = queues_.back()->open(interface, queue, program_.several_buffers(), largest_frame); !opened)
      return opened;
    if (Status added = program_.add(queue, queues_.back()->fd()); !added) return added;
  }
  return {};
}

uint32_t XdpPlane::largest_frame() const {
  uint32_t smallest = UINT32_MAX;
  for (const auto& queue : queues_) smallest = std::min(smallest, queue->largest_frame());
  return smallest;
}

std::string XdpPlane::describe() const {
  const bool zero_copy = std::all_of(queues_.begin(), queues_.end(), [](const auto& q) { return q->zero_copy(); });
  return std::string("AF_XDP, ") + (zero_copy ? "zero-copy, " : "copying, ") +
         (program_.in_driver() ? "in the driver, " : "generic, ") + std::to_string(queues_.size()) +
         (queues_.size() == 1 ? " queue" : " queues");
}

}  // namespace mrc::datapath
