// Receiving half of the raw datapath: frames of all planes' packet sockets, headers stripped, foreign packets
// skipped. A packet sent unsplit by a peer's segmentation offload over virtual links is returned as one burst.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datapath/datapath.h"
#include "datapath/raw/packet_sockets.h"
#include "datapath/raw/xdp_plane.h"
#include "datapath/ready_sources.h"

namespace mrc::datapath {

class RawReceiver {
 public:
  static constexpr uint32_t kBatch = 32;
  static constexpr uint32_t kFrameBytes = 66048;  // 64 KiB and headers
  static constexpr uint32_t kMaxSources = 96;     // 32 planes with interface, loopback and a queue of AF_XDP
  static_assert(kMaxSources <= ReadySources::kMaxSources);

  // Without sources. Epoll data is the index of the source.
  Status open(const HostConfig& config, int epoll_fd);
  // The sources of a plane; `sockets` and `xdp`, which may be null, outlive this.
  Status open_plane(PlaneId p, const HostPlane& plane, const PacketSockets& sockets, XdpPlane* xdp);
  void set_ready(uint32_t index) { ready_.set(index); }
  // Sources in shared memory show their frames without a system call.
  void poll_rings();
  bool any_ready() const { return ready_.any(); }
  // At most `max` bursts; their buffers are valid until the next call.
  int receive(core::RxBurst* out, int max, DatapathCounters* counters);

 private:
  struct Source {
    int fd = -1;
    PlaneId plane;
    uint32_t overflow = 0;  // last value of the kernel's running count
    Xsk* xsk = nullptr;     // null: a packet socket
  };
  Status add_source(int fd, PlaneId plane, Xsk* xsk);
  int receive_from(uint32_t index, core::RxBurst* out, int max, DatapathCounters* counters);
  int receive_packets(uint32_t index, core::RxBurst* out, int max, DatapathCounters* counters);
  int receive_frames(uint32_t index, core::RxBurst* out, int max, DatapathCounters* counters);
  // False: not for this plane. `segment` 0: one packet.
  bool accept(const Source& source, const uint8_t* frame, uint32_t bytes, uint32_t segment, core::RxBurst* out,
              DatapathCounters* counters);
  bool take(Source* source, const msghdr& msg, const uint8_t* data, uint32_t bytes, core::RxBurst* out,
            DatapathCounters* counters);

  int epoll_fd_ = -1;
  PerPlane<HostPlane> planes_;
  PerPlane<const PacketSockets*> sockets_;
  std::vector<Source> sources_;
  ReadySources ready_;
  uint32_t buffers_used_ = 0;  // of packet sockets, since the last call
  struct FreeBuffer {
    void operator()(uint8_t* p) const;
  };
  std::unique_ptr<uint8_t, FreeBuffer> memory_;
  struct alignas(8) Control {
    std::array<char, 64> bytes;
  };
  std::array<mmsghdr, kBatch> msgs_;
  std::array<iovec, kBatch> iovs_;
  std::array<Control, kBatch> control_;
};

}  // namespace mrc::datapath
