#include "zerocopy.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "common.h"

namespace udp_limit {

namespace {

bool is_error_report(const cmsghdr& c) {
  return (c.cmsg_level == SOL_IP && c.cmsg_type == IP_RECVERR) ||
         (c.cmsg_level == SOL_IPV6 && c.cmsg_type == IPV6_RECVERR);
}

}  // namespace

void enable_zerocopy(int fd) {
  const int on = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) != 0) fail("SO_ZEROCOPY");
}

void take_completions(int fd, ZeroCopyCounts* counts) {
  for (;;) {
    alignas(cmsghdr) char space[128];
    msghdr msg{};
    msg.msg_control = space;
    msg.msg_controllen = sizeof space;
    if (::recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return;
    for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(&msg, c)) {
      if (!is_error_report(*c)) continue;
      sock_extended_err report{};
      std::memcpy(&report, CMSG_DATA(c), sizeof report);
      if (report.ee_origin != SO_EE_ORIGIN_ZEROCOPY) continue;
      const uint32_t sends = report.ee_data - report.ee_info + 1;  // a range of numbers that wrap
      counts->done += sends;
      if ((report.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0) counts->copied += sends;
    }
  }
}

}  // namespace udp_limit
