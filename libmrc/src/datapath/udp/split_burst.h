// SplitBurst: a burst without segmentation offload. Each packet is a message of its own, and one sendmmsg sends them
// all.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstdint>

#include "core/burst.h"
#include "datapath/datapath.h"
#include "datapath/udp/message_header.h"
#include "datapath/udp/send_errors.h"
#include "datapath/udp/syscalls.h"

namespace mrc::datapath {

class SplitBurst {
 public:
  // Cuts `bytes` bytes of iovecs at the boundaries of segments, of kMaxSegments at most. What is sent refers to the
  // iovecs' memory and to `header`.
  void cut(const iovec* iov, uint32_t iov_count, uint32_t segment_size, uint32_t bytes, MessageHeader* header);
  // Sends the segments in order, and counts. A segment that the kernel refuses is lost. Returns how many are dealt
  // with: fewer than segments() when the socket has no room for more.
  uint32_t send(const UdpSyscalls& sys, int fd, SendErrors* errors, DatapathCounters* counters);
  uint32_t segments() const { return segments_; }

 private:
  uint32_t segments_ = 0;
  std::array<mmsghdr, core::kMaxSegments> msgs_;
  std::array<uint32_t, core::kMaxSegments> sizes_;
  std::array<iovec, core::kMaxIov + core::kMaxSegments> iovs_;
};

}  // namespace mrc::datapath
