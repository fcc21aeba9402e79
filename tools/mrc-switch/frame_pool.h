// FramePool: buffers of one size, allocated and freed singly; grows in chunks up to a limit and never shrinks.
#pragma once

#include <memory>
#include <vector>

#include "egress_port.h"

namespace mrc::softswitch {

class FramePool final : public FrameOwner {
 public:
  FramePool(uint32_t buffer_bytes, uint32_t max_frames) : buffer_bytes_(buffer_bytes), max_frames_(max_frames) {}
  Frame* take();  // nullptr: the limit is reached
  void release(Frame* f) override;
  uint32_t buffer_bytes() const { return buffer_bytes_; }
  uint32_t live() const { return live_; }

 private:
  struct Chunk {
    std::unique_ptr<Frame[]> frames;
    std::unique_ptr<uint8_t[]> bytes;
  };
  const uint32_t buffer_bytes_, max_frames_;
  uint32_t made_ = 0, live_ = 0;
  Frame* free_ = nullptr;
  std::vector<Chunk> chunks_;
};

}  // namespace mrc::softswitch
