#include "datapath/held_burst.h"

#include <algorithm>

namespace mrc::datapath {

void HeldBurst::assign(const core::TxBurst& burst, uint32_t done) {
  size_t skip = size_t{done} * burst.segment_size;
  bytes_.clear();
  bytes_.reserve(burst.bytes);
  for (uint32_t i = 0; i < burst.iov_count; ++i) {
    const iovec& iov = burst.iov[i];
    const auto* p = static_cast<const uint8_t*>(iov.iov_base);
    const size_t leave_out = std::min(skip, iov.iov_len);
    bytes_.insert(bytes_.end(), p + leave_out, p + iov.iov_len);
    skip -= leave_out;
  }
  begin_ = 0;
  flow_ = burst.flow;
  plane_ = burst.plane;
  ev_index_ = burst.ev_index;
  hop_limit_ = burst.hop_limit;
  segments_ = burst.segments - done;
  segment_size_ = burst.segment_size;
}

void HeldBurst::drop(uint32_t segments) {
  begin_ += std::min(segments * segment_size_, bytes());
  segments_ -= segments;
}

iovec HeldBurst::whole() const {
  return {const_cast<uint8_t*>(bytes_.data()) + begin_, bytes()};
}

void HeldBurst::view(core::TxBurst* burst) const {
  burst->flow = flow_;
  burst->plane = plane_;
  burst->ev_index = ev_index_;
  burst->hop_limit = hop_limit_;
  burst->segments = segments_;
  burst->segment_size = segment_size_;
  burst->bytes = bytes();
  burst->iov_count = 1;
  burst->iov[0] = whole();
}

}  // namespace mrc::datapath
