// Frames out by an AF_PACKET socket: they are collected and leave by one sendmmsg. Not by the socket's ring in shared
// memory: the kernel sends from that without a copy, and declares a frame's room free when a virtual link hands the
// packet to a receiver that has not read it yet.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "datapath/raw/frame_sender.h"

namespace mrc::datapath {

class PacketBatch final : public FrameSender {
 public:
  static constexpr uint32_t kFrames = 32;

  void open(int fd, uint32_t largest_frame);

  uint8_t* reserve() override;
  void commit(uint32_t header_bytes, uint32_t payload_bytes) override;
  void flush(DatapathCounters* counters) override;
  bool unsent() const override { return first_ < end_; }
  int room_fd() const override { return fd_; }
  uint32_t largest_frame() const override { return largest_frame_; }
  const std::string& first_error() const override { return first_error_; }

 private:
  void refuse(DatapathCounters* counters);

  int fd_ = -1;
  uint32_t largest_frame_ = 0;
  uint32_t first_ = 0, end_ = 0;  // frames not sent
  std::unique_ptr<uint8_t[]> memory_;
  std::array<iovec, kFrames> iovs_;
  std::array<mmsghdr, kFrames> msgs_;
  std::array<uint32_t, kFrames> payload_bytes_;
  std::string first_error_;
};

}  // namespace mrc::datapath
