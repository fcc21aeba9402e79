#include "datapath/udp/split_burst.h"

#include <algorithm>
#include <cerrno>

namespace mrc::datapath {

void SplitBurst::cut(const iovec* iov, uint32_t iov_count, uint32_t segment_size, uint32_t bytes,
                     MessageHeader* header) {
  segments_ = 0;
  uint32_t pieces = 0;
  uint32_t at = 0;  // index into iov
  size_t offset = 0;
  while (bytes > 0 && segments_ < core::kMaxSegments) {
    uint32_t left = std::min(segment_size, bytes);
    bytes -= left;
    sizes_[segments_] = left;
    msghdr& msg = msgs_[segments_].msg_hdr;
    msg = {};
    header->apply(&msg);
    msg.msg_iov = &iovs_[pieces];
    while (left > 0 && at < iov_count) {
      size_t take = std::min<size_t>(left, iov[at].iov_len - offset);
      if (take > 0) iovs_[pieces++] = {static_cast<uint8_t*>(iov[at].iov_base) + offset, take};
      left -= static_cast<uint32_t>(take);
      offset += take;
      if (offset == iov[at].iov_len) {
        ++at;
        offset = 0;
      }
    }
    msg.msg_iovlen = static_cast<size_t>(&iovs_[pieces] - msg.msg_iov);
    ++segments_;
  }
}

uint32_t SplitBurst::send(const UdpSyscalls& sys, int fd, SendErrors* errors, DatapathCounters* counters) {
  int refused = 0;
  uint32_t first = 0;
  while (first < segments_) {
    ++counters->tx_calls;
    int n = sys.sendmmsg(fd, &msgs_[first], segments_ - first, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EINTR || (errno == ECONNREFUSED && ++refused == 1)) continue;
      if (errno == EAGAIN) return first;
      errors->note_refusal(errno);
      ++counters->tx_errors;
      n = 1;  // this one is lost; the others may pass
    } else {
      counters->tx_packets += static_cast<uint32_t>(n);
      for (int i = 0; i < n; ++i) counters->tx_bytes += sizes_[first + static_cast<uint32_t>(i)];
    }
    first += static_cast<uint32_t>(n);
  }
  return first;
}

}  // namespace mrc::datapath
