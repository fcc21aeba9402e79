// An AF_XDP socket on one queue of an interface: frames in and out by memory that is shared with the kernel, or with
// the card itself if its driver can (zero-copy). By system calls alone: no library is required at run time. One
// thread.
//
// A frame that is larger than a chunk of that memory occupies several. Sent frames are written to adjacent chunks.
// Received ones usually lie in adjacent chunks, too, because chunks are returned to the kernel in the order in which
// they came: then only the parts behind the first are moved, by the headroom between them.
#pragma once

#include <linux/if_xdp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datapath/raw/frame_sender.h"
#include "datapath/raw/xsk_ring.h"
#include "datapath/udp/socket.h"

namespace mrc::datapath {

class Xsk final : public FrameSender {
 public:
  static constexpr uint32_t kChunkBytes = 4096;
  static constexpr uint32_t kHeadroom = 256;  // that the kernel keeps in a received frame

  Xsk() = default;
  ~Xsk() override;
  Xsk(const Xsk&) = delete;
  // `several_chunks`: try to have frames that do not fit a chunk behind its headroom, up to `largest_frame`.
  Status open(uint32_t interface, uint32_t queue, bool several_chunks, uint32_t largest_frame);

  int fd() const { return fd_.get(); }
  bool zero_copy() const { return zero_copy_; }
  uint64_t dropped() const;  // received frames dropped for lack of room

  struct Frame {
    const uint8_t* data = nullptr;
    uint32_t bytes = 0;
  };
  bool waiting() const { return rx_.waiting() > 0; }
  // The next frame, if there is one. Valid until release().
  std::optional<Frame> receive();
  // Returns the memory of received frames to the kernel.
  void release();

  uint8_t* reserve() override;
  void commit(uint32_t header_bytes, uint32_t payload_bytes) override;
  void flush(DatapathCounters* counters) override;
  bool unsent() const override { return tx_.left() > 0; }
  int room_fd() const override { return room_.get(); }
  uint32_t largest_frame() const override;  // in either direction
  const std::string& first_error() const override { return no_error_; }

 private:
  static constexpr uint32_t kRing = 2048;
  static constexpr uint32_t kChunks = 2 * kRing;  // half for each direction
  static constexpr uint32_t kJoinBytes = 1u << 18;

  Status make_rings();
  Status bind(uint32_t interface, uint32_t queue, bool several_chunks);
  void share_out();
  uint8_t* at(uint64_t address) const { return memory_ + address; }
  uint32_t parts_of_next(uint32_t* bytes) const;
  const uint8_t* join(uint32_t parts, uint32_t bytes);
  void reclaim();
  void check() const;

  Fd fd_, room_;  // room_: of the same socket, to be waited on for room
  uint8_t* memory_ = nullptr;
  XskRing<uint64_t> fill_, completion_;
  XskRing<xdp_desc> rx_, tx_;
  bool zero_copy_ = false;
  uint32_t slot_chunks_ = 1;           // adjacent chunks of a frame to send
  std::vector<uint32_t> free_;         // slots to send in; the one used last is taken first, its memory is cached
  std::vector<uint8_t> in_flight_;     // chunks of each slot that the kernel has
  std::vector<uint64_t> lent_;         // received chunks, in their order
  std::unique_ptr<uint8_t[]> joined_;  // of frames in chunks that are not adjacent
  uint32_t joined_bytes_ = 0;
  const std::string no_error_;  // the kernel refuses no frame of a ring
};

}  // namespace mrc::datapath
