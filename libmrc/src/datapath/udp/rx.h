// Receiving half of the UDP driver: a socket per plane, polled through one epoll descriptor, into a small set of
// buffers that are reused from the first one at every call, so that they stay in the cache and the engine's copy
// into user memory is the only one in user space.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datapath/ready_sources.h"
#include "datapath/udp/receive_buffers.h"
#include "datapath/udp/receive_messages.h"
#include "datapath/udp/receive_sockets.h"
#include "datapath/udp/udp_datapath.h"

namespace mrc::datapath {

class UdpReceiver {
 public:
  static constexpr uint32_t kGroBytes = 65536;  // the largest thing GRO delivers
  static constexpr uint32_t kPlainBytes =
      16384;  // per datagram without GRO; the largest MRC packet has 8,192 + headers

  // Sockets of the planes, bound; registers them at `epoll_fd` with data = index of the socket. Planes that lack their
  // address or interface are added to `closed`.
  Status open(const UdpConfig& config, const UdpSyscalls& sys, bool gro, int epoll_fd, ClosedPlanes* closed);
  // The sockets of a closed plane; with an error it has none.
  Status open_plane(PlaneId p, const HostPlane& plane);
  void close_plane(PlaneId plane);
  // Marks socket `index` as ready; called with the results of epoll. These may name a socket that has left meanwhile.
  void set_ready(uint32_t index) {
    if (sockets_.is_open(index)) ready_.set(index);
  }
  bool any_ready() const { return ready_.any(); }
  // Reads ready sockets in turn; at most `max` bursts.
  int receive(core::RxBurst* out, int max, DatapathCounters* counters);
  // Marks all buffers as free: call once per rx_burst.
  void recycle() { buffers_.recycle(); }

  // See ReceiveSockets.
  Status join(const PerPlane<core::PlaneAddress>& group) { return sockets_.join(group); }
  void leave(const PerPlane<core::PlaneAddress>& group);
  const ReceiveSockets& sockets() const { return sockets_; }

 private:
  int receive_gro(ReceiveSockets::Socket* s, core::RxBurst* out, DatapathCounters* counters);
  int receive_plain(ReceiveSockets::Socket* s, core::RxBurst* out, int max, DatapathCounters* counters);
  // Fills addresses, class, label and segment size from one message. False: unusable (truncated).
  bool fill(ReceiveSockets::Socket* s, uint32_t message, uint32_t bytes, core::RxBurst* out,
            DatapathCounters* counters);
  void forget_closed();

  const UdpSyscalls* sys_ = nullptr;
  bool gro_ = false;
  ReceiveSockets sockets_;
  ReadySources ready_;
  ReceiveBuffers buffers_;
  ReceiveMessages messages_;
};

}  // namespace mrc::datapath
