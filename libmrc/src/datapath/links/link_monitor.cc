#include "datapath/links/link_monitor.h"

#include <net/if.h>
// The kernel's header omits the definitions of the one above; in the opposite order they conflict.
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace mrc::datapath {

namespace {

constexpr size_t kLargestMessage = 32 << 10;  // of the kernel's

std::string_view name_in(const ifinfomsg* link, int bytes) {
  for (const rtattr* a = IFLA_RTA(link); RTA_OK(a, bytes); a = RTA_NEXT(a, bytes)) {
    const auto* text = static_cast<const char*>(RTA_DATA(a));
    if (a->rta_type == IFLA_IFNAME) return {text, ::strnlen(text, RTA_PAYLOAD(a))};
  }
  return {};
}

}  // namespace

bool has_link(uint32_t interface_flags) {
  return (interface_flags & IFF_UP) != 0 && (interface_flags & IFF_LOWER_UP) != 0 &&
         (interface_flags & IFF_DORMANT) == 0;
}

Status LinkMonitor::open(bool addresses) {
  fd_ = Fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_groups = RTMGRP_LINK | (addresses ? RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR : 0);
  if (!fd_ || ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 || !request_states())
    return failed_call("rtnetlink");
  return {};
}

// The states of all; the answers have the form of notifications.
bool LinkMonitor::request_states() {
  struct {
    nlmsghdr header;
    ifinfomsg link;
  } query{};
  query.header.nlmsg_len = sizeof query;
  query.header.nlmsg_type = RTM_GETLINK;
  query.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  query.link.ifi_family = AF_UNSPEC;
  answering_ = ::send(fd_.get(), &query, sizeof query, 0) == static_cast<ssize_t>(sizeof query);
  stale_ = !answering_;
  return answering_;
}

void LinkMonitor::request_again() {
  if (answering_)
    stale_ = true;
  else
    request_states();
}

void LinkMonitor::read(const std::function<void(const LinkState&)>& change) {
  alignas(nlmsghdr) std::array<char, kLargestMessage> buffer;
  for (;;) {
    const ssize_t n = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) {
      take(buffer.data(), static_cast<size_t>(n), change);
    } else if (n == 0 || (errno != EINTR && errno != ENOBUFS)) {
      return;
    } else if (errno == ENOBUFS) {
      stale_ = true;
    }
    if (stale_ && !answering_) request_states();
  }
}

void LinkMonitor::take(const char* message, size_t bytes, const std::function<void(const LinkState&)>& change) {
  for (const auto* h = reinterpret_cast<const nlmsghdr*>(message); NLMSG_OK(h, bytes); h = NLMSG_NEXT(h, bytes)) {
    if ((h->nlmsg_flags & NLM_F_DUMP_INTR) != 0) stale_ = true;  // interfaces were added or removed during the answer
    if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) answering_ = false;
    if (h->nlmsg_type != RTM_NEWLINK && h->nlmsg_type != RTM_DELLINK) continue;
    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(ifinfomsg))) continue;
    const auto* link = static_cast<const ifinfomsg*>(NLMSG_DATA(h));
    change({link->ifi_index, name_in(link, static_cast<int>(h->nlmsg_len - NLMSG_LENGTH(sizeof(ifinfomsg)))),
            h->nlmsg_type == RTM_NEWLINK && has_link(link->ifi_flags)});
  }
}

}  // namespace mrc::datapath
