// An AF_XDP socket on one queue of an interface: frames in and out by memory that is shared with the kernel, or with
// the card itself if its driver can (zero-copy). By system calls alone: no library is required at run time. One
// thread.
#pragma once

#include <linux/if_xdp.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datapath/raw/xsk_ring.h"
#include "datapath/udp/socket.h"

namespace mrc::datapath {

class Xsk {
 public:
  static constexpr uint32_t kFrameBytes = 4096;
  static constexpr uint32_t kHeadroom = 256;  // that the kernel keeps in a received frame

  Xsk() = default;
  ~Xsk();
  Xsk(const Xsk&) = delete;
  // `several_buffers`: try to have frames of more than kFrameBytes, in several buffers. False: a sentence in *why,
  // errno.
  Status open(uint32_t interface, uint32_t queue, bool several_buffers);

  int fd() const { return fd_.get(); }
  bool zero_copy() const { return zero_copy_; }
  bool several_buffers() const { return several_buffers_; }
  uint64_t dropped() const;  // received frames dropped for lack of room

  struct Frame {
    const uint8_t* data = nullptr;
    uint32_t bytes = 0;
  };
  // The next frame; false when there is none. Valid until release().
  bool receive(Frame* out);
  void release();

  // One frame. False: no room.
  bool send(const iovec* parts, uint32_t count, uint32_t bytes);
  // Wakes the kernel for frames that it has not taken. 0, or errno.
  int kick();
  bool unsent() const { return tx_.unread(); }

 private:
  static constexpr uint32_t kRing = 2048;
  static constexpr uint32_t kFrames = 2 * kRing;  // half for each direction

  Status make_rings();
  Status bind(uint32_t interface, uint32_t queue, bool several_buffers);
  uint8_t* at(uint64_t address) const { return memory_ + address; }
  void reclaim();

  Fd fd_;
  uint8_t* memory_ = nullptr;
  XskRing<uint64_t> fill_, completion_;
  XskRing<xdp_desc> rx_, tx_;
  bool zero_copy_ = false;
  bool several_buffers_ = false;
  std::vector<uint64_t> free_;                      // frames to send in
  std::vector<uint64_t> lent_;                      // received, not returned
  std::vector<std::unique_ptr<uint8_t[]>> joined_;  // of frames in several buffers
};

}  // namespace mrc::datapath
