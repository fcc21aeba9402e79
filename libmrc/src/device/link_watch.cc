#include "device/link_watch.h"

#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace mrc::device {

namespace {

constexpr size_t kBuffer = 32 << 10;  // a message of the kernel's never exceeds it

std::string name_in(const ifinfomsg* link, int bytes) {
  for (const rtattr* a = IFLA_RTA(link); RTA_OK(a, bytes); a = RTA_NEXT(a, bytes))
    if (a->rta_type == IFLA_IFNAME)
      return std::string(static_cast<const char*>(RTA_DATA(a)),
                         ::strnlen(static_cast<const char*>(RTA_DATA(a)), RTA_PAYLOAD(a)));
  return {};
}

}  // namespace

bool has_link(uint32_t interface_flags) {
  return (interface_flags & IFF_UP) != 0 && (interface_flags & IFF_LOWER_UP) != 0 &&
         (interface_flags & IFF_DORMANT) == 0;
}

LinkWatch::~LinkWatch() {
  if (fd_ >= 0) ::close(fd_);
}

bool LinkWatch::open(std::vector<std::string> interfaces) {
  interfaces_ = std::move(interfaces);
  fd_ = ::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd_ < 0) return false;
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_groups = RTMGRP_LINK;
  return ::bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 && ask();
}

// The states of all; the answers come as if they were news.
bool LinkWatch::ask() {
  struct {
    nlmsghdr header;
    ifinfomsg link;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = RTM_GETLINK;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.link.ifi_family = AF_UNSPEC;
  return ::send(fd_, &question, sizeof question, 0) == static_cast<ssize_t>(sizeof question);
}

uint32_t LinkWatch::read() {
  alignas(nlmsghdr) std::array<char, kBuffer> buffer;
  for (;;) {
    const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n > 0) {
      take(buffer.data(), static_cast<size_t>(n));
    } else if (n < 0 && errno == ENOBUFS) {
      ask();  // news was lost
    } else if (n == 0 || errno != EINTR) {
      return up_;
    }
  }
}

void LinkWatch::take(const char* message, size_t bytes) {
  for (const auto* h = reinterpret_cast<const nlmsghdr*>(message); NLMSG_OK(h, bytes); h = NLMSG_NEXT(h, bytes)) {
    if (h->nlmsg_type != RTM_NEWLINK && h->nlmsg_type != RTM_DELLINK) continue;
    if (h->nlmsg_len < NLMSG_LENGTH(sizeof(ifinfomsg))) continue;
    const auto* link = static_cast<const ifinfomsg*>(NLMSG_DATA(h));
    const std::string name = name_in(link, static_cast<int>(h->nlmsg_len - NLMSG_LENGTH(sizeof(ifinfomsg))));
    const bool up = h->nlmsg_type == RTM_NEWLINK && has_link(link->ifi_flags);
    for (size_t plane = 0; plane < interfaces_.size(); ++plane)
      if (!name.empty() && interfaces_[plane] == name) up_ = up ? up_ | 1u << plane : up_ & ~(1u << plane);
  }
}

}  // namespace mrc::device
