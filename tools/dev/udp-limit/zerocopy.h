// MSG_ZEROCOPY: the kernel sends from the caller's pages and reports on the socket's error queue when it has done with
// them, and whether it has copied them after all. Over loopback it always does: the receiver must not hold the sender's
// pages. So this option shows its price there; its gain only on a network card.
#pragma once

#include <cstdint>
#include <ctime>  // before <linux/errqueue.h>, which requires timespec

namespace udp_limit {

struct ZeroCopyCounts {
  uint64_t done = 0;    // sends that the kernel has reported
  uint64_t copied = 0;  // of these, the ones that it has copied
};

// Exits with a message when the socket cannot.
void enable_zerocopy(int fd);

// Takes all reports that are there. Without this the kernel refuses sends after some hundred (ENOBUFS).
void take_completions(int fd, ZeroCopyCounts* counts);

}  // namespace udp_limit
