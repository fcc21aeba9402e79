#include "datapath/raw/raw_rx.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace mrc::datapath {

namespace {

// The header that PACKET_VNET_HDR puts before a frame, in host order. The kernel's own header for it is not C++.
struct OffloadHeader {
  uint8_t flags;
  uint8_t gso_type;
  uint16_t header_length;
  uint16_t gso_size;
  uint16_t checksum_start;
  uint16_t checksum_offset;
};
static_assert(sizeof(OffloadHeader) == 10);
constexpr uint8_t kGsoUdp = 5;  // UDP segments with headers of their own; reported by kernels since 6.2

constexpr int kMaxPolls = 64;  // of sources in one call: foreign frames do not end it, and the engine has timers to run

}  // namespace

void RawReceiver::FreeBuffer::operator()(uint8_t* p) const {
  std::free(p);
}

Status RawReceiver::open(const HostConfig& config, int epoll_fd) {
  epoll_fd_ = epoll_fd;
  planes_ = config.planes;
  sockets_.resize(planes_.size());
  memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(4096, (kBatch * kFrameBytes + 4095) / 4096 * 4096)));
  if (!memory_) return Error{ENOMEM, "no memory for receive buffers"};
  return {};
}

Status RawReceiver::open_plane(PlaneId p, const HostPlane& plane, const PacketSockets& sockets, XdpPlane* xdp) {
  planes_[p] = plane;
  sockets_[p] = &sockets;
  for (const Fd& fd : sockets.receivers()) {
    if (!fd) continue;
    const int on = 1;
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof(on));
    if (Status added = add_source(fd.get(), p, nullptr); !added) return added;
  }
  if (xdp == nullptr) return {};
  for (const auto& queue : xdp->queues())
    if (Status added = add_source(queue->fd(), p, queue.get()); !added) return added;
  return {};
}

Status RawReceiver::add_source(int fd, PlaneId plane, Xsk* xsk) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = sources_.size();
  if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) != 0) return failed_call("epoll");
  sources_.push_back({fd, plane, 0, xsk});
  return {};
}

int RawReceiver::receive(core::RxBurst* out, int max, DatapathCounters* counters) {
  for (Source& source : sources_)
    if (source.xsk != nullptr) source.xsk->release();
  buffers_used_ = 0;
  int got = 0;
  for (int polls = 0; ready_.any() && got < max && buffers_used_ < kBatch && polls < kMaxPolls; ++polls) {
    const uint32_t index = ready_.next();
    got += receive_from(index, out + got, max - got, counters);
    ready_.begin_after(index);
  }
  return got;
}

int RawReceiver::receive_from(uint32_t index, core::RxBurst* out, int max, DatapathCounters* counters) {
  return sources_[index].xsk != nullptr ? receive_frames(index, out, max, counters)
                                        : receive_packets(index, out, max, counters);
}

void RawReceiver::poll_rings() {
  for (uint32_t i = 0; i < sources_.size(); ++i)
    if (sources_[i].xsk != nullptr && sources_[i].xsk->waiting()) ready_.set(i);
}

int RawReceiver::receive_frames(uint32_t index, core::RxBurst* out, int max, DatapathCounters* counters) {
  const Source& source = sources_[index];
  ++counters->rx_calls;
  int got = 0;
  while (got < max) {
    const std::optional<Xsk::Frame> frame = source.xsk->receive();
    if (!frame) {
      ready_.clear(index);
      break;
    }
    if (accept(source, frame->data, frame->bytes, 0, out + got, counters)) ++got;
  }
  return got;
}

int RawReceiver::receive_packets(uint32_t index, core::RxBurst* out, int max, DatapathCounters* counters) {
  Source* const source = &sources_[index];
  const unsigned int first = buffers_used_;
  const unsigned int want = std::min(static_cast<unsigned int>(max), kBatch - first);
  for (unsigned int i = first; i < first + want; ++i) {
    iovs_[i] = {memory_.get() + static_cast<size_t>(i) * kFrameBytes, kFrameBytes};
    msghdr& msg = msgs_[i].msg_hdr;
    msg = {};
    msg.msg_iov = &iovs_[i];
    msg.msg_iovlen = 1;
    msg.msg_control = control_[i].bytes.data();
    msg.msg_controllen = control_[i].bytes.size();
  }
  ++counters->rx_calls;
  const int n = ::recvmmsg(source->fd, &msgs_[first], want, MSG_DONTWAIT, nullptr);
  if (n < 0 && errno == EINTR) return 0;
  if (n < 0 && errno != EAGAIN) ++counters->rx_errors;  // epoll shows the socket again if there is more
  if (n < static_cast<int>(want)) ready_.clear(index);
  int got = 0;
  if (n > 0) buffers_used_ += static_cast<uint32_t>(n);
  for (unsigned int i = first; i < buffers_used_; ++i) {
    const auto* data = static_cast<const uint8_t*>(iovs_[i].iov_base);
    if (take(source, msgs_[i].msg_hdr, data, msgs_[i].msg_len, out + got, counters)) ++got;
  }
  return got;
}

bool RawReceiver::take(Source* source, const msghdr& msg, const uint8_t* data, uint32_t bytes, core::RxBurst* out,
                       DatapathCounters* counters) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&msg); c != nullptr; c = CMSG_NXTHDR(const_cast<msghdr*>(&msg), c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_RXQ_OVFL) continue;
    uint32_t value;
    std::memcpy(&value, CMSG_DATA(c), sizeof(value));
    counters->rx_overflow += value - source->overflow;
    source->overflow = value;
  }
  OffloadHeader offload;
  if ((msg.msg_flags & MSG_TRUNC) != 0 || bytes < sizeof(offload)) {
    ++counters->rx_errors;
    return false;
  }
  std::memcpy(&offload, data, sizeof(offload));
  const uint32_t segment = offload.gso_type == kGsoUdp ? offload.gso_size : 0u;
  return accept(*source, data + sizeof(offload), bytes - sizeof(offload), segment, out, counters);
}

bool RawReceiver::accept(const Source& source, const uint8_t* frame, uint32_t bytes, uint32_t segment,
                         core::RxBurst* out, DatapathCounters* counters) {
  const HeldPorts& ports = sockets_[source.plane]->ports();
  const std::optional<ParsedFrame> parsed = parse_frame(frame, bytes);
  if (!parsed) return false;
  if (!is_for(*parsed, planes_[source.plane].addr, ports.port(), ports.second_port())) return false;
  if (parsed->payload_bytes == 0) {
    ++counters->rx_errors;
    return false;
  }
  out->flow = parsed->flow;
  out->plane = source.plane;
  out->data = parsed->payload;
  out->bytes = out->segment_size = parsed->payload_bytes;
  if (segment != 0) out->segment_size = std::min(segment, parsed->payload_bytes);
  counters->count_received(*out);
  return true;
}

}  // namespace mrc::datapath
