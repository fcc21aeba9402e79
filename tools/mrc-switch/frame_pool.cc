#include "frame_pool.h"

#include <algorithm>

namespace mrc::softswitch {
namespace {

constexpr uint32_t kChunk = 128;

}  // namespace

Frame* FramePool::take() {
  if (free_ == nullptr) {
    const uint32_t count = std::min(kChunk, max_frames_ - made_);
    if (count == 0) return nullptr;
    // Not initialised: pages that no packet has needed yet cost nothing.
    chunks_.push_back(
        {std::make_unique<Frame[]>(count), std::unique_ptr<uint8_t[]>(new uint8_t[size_t{count} * buffer_bytes_])});
    made_ += count;
    for (uint32_t i = count; i-- > 0;) {
      Frame* f = &chunks_.back().frames[i];
      f->data = chunks_.back().bytes.get() + size_t{i} * buffer_bytes_;
      f->next = free_;
      free_ = f;
    }
  }
  Frame* f = free_;
  free_ = f->next;
  f->next = nullptr;
  ++live_;
  return f;
}

void FramePool::release(Frame* f) {
  f->next = free_;
  free_ = f;
  --live_;
}

}  // namespace mrc::softswitch
