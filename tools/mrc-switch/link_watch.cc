#include "link_watch.h"

#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "topology.h"

namespace mrc::softswitch {

LinkWatch::LinkWatch() {
  fd_ = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw fabric::FabricError(std::string("rtnetlink: ") + std::strerror(errno));
  ask_all();
}

LinkWatch::~LinkWatch() {
  if (fd_ >= 0) close(fd_);
}

void LinkWatch::ask_all() {
  struct {
    nlmsghdr header;
    ifinfomsg body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  if (send(fd_, &request, sizeof request, 0) < 0)
    throw fabric::FabricError(std::string("rtnetlink: ") + std::strerror(errno));
}

void LinkWatch::read_news(const std::function<void(int, bool)>& change) {
  alignas(nlmsghdr) uint8_t buffer[32768];
  for (;;) {
    const ssize_t n = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == ENOBUFS) ask_all();  // news were lost
    if (n < 0 && (errno == EINTR || errno == ENOBUFS)) continue;
    if (n <= 0) return;
    auto left = static_cast<unsigned>(n);
    for (auto* m = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
      if (m->nlmsg_type != RTM_NEWLINK && m->nlmsg_type != RTM_DELLINK) continue;
      const auto* link = static_cast<const ifinfomsg*>(NLMSG_DATA(m));
      // IFF_RUNNING would come up to 1 s after the carrier.
      const bool works = (link->ifi_flags & IFF_UP) != 0 && (link->ifi_flags & IFF_LOWER_UP) != 0;
      change(link->ifi_index, m->nlmsg_type == RTM_NEWLINK && works);
    }
  }
}

}  // namespace mrc::softswitch
