#include "datapath/raw/packet_batch.h"

#include <cerrno>
#include <cstring>

namespace mrc::datapath {

void PacketBatch::open(int fd, uint32_t largest_frame) {
  fd_ = fd;
  largest_frame_ = largest_frame;
  memory_ = std::make_unique<uint8_t[]>(size_t{kFrames} * largest_frame);
  for (uint32_t i = 0; i < kFrames; ++i) {
    iovs_[i].iov_base = memory_.get() + size_t{i} * largest_frame;
    msgs_[i] = {};
    msgs_[i].msg_hdr.msg_iov = &iovs_[i];
    msgs_[i].msg_hdr.msg_iovlen = 1;
  }
}

uint8_t* PacketBatch::reserve() {
  return end_ < kFrames ? static_cast<uint8_t*>(iovs_[end_].iov_base) : nullptr;
}

void PacketBatch::commit(uint32_t header_bytes, uint32_t payload_bytes) {
  iovs_[end_].iov_len = header_bytes + payload_bytes;
  payload_bytes_[end_++] = payload_bytes;
}

void PacketBatch::flush(DatapathCounters* counters) {
  while (first_ < end_) {
    ++counters->tx_calls;
    const int n = ::sendmmsg(fd_, &msgs_[first_], end_ - first_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
      first_ += static_cast<uint32_t>(n);
    else if (errno == EAGAIN)
      return;
    else if (errno != EINTR)
      refuse(counters);
  }
  first_ = end_ = 0;  // from the beginning, whose memory is cached
}

// ENOBUFS: the interface's queue is full and dropped the packet, as any queue on the way may.
void PacketBatch::refuse(DatapathCounters* counters) {
  if (first_error_.empty()) first_error_ = std::strerror(errno);
  ++counters->tx_errors;
  --counters->tx_packets;
  counters->tx_bytes -= payload_bytes_[first_++];
}

}  // namespace mrc::datapath
