// Splitting a burst and gathering parts of it again, without copying the data of its iovecs.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/burst.h"

namespace mrc::datapath {

// An empty burst with the destination of `from`.
inline void begin(core::TxBurst* part, const core::TxBurst& from) {
  part->flow = from.flow;
  part->plane = from.plane;
  part->ev_index = from.ev_index;
  part->segments = part->bytes = part->iov_count = 0;
  part->segment_size = from.segment_size;
  part->hop_limit = from.hop_limit;
}

inline void append(core::TxBurst* part, const core::TxBurst& segment) {
  std::copy_n(segment.iov.begin(), segment.iov_count, part->iov.begin() + part->iov_count);
  part->iov_count += segment.iov_count;
  part->bytes += segment.bytes;
  ++part->segments;
}

inline void flatten(const core::TxBurst& burst, uint8_t* out) {
  for (uint32_t i = 0; i < burst.iov_count; ++i) {
    std::memcpy(out, burst.iov[i].iov_base, burst.iov[i].iov_len);
    out += burst.iov[i].iov_len;
  }
}

// Cursor over a burst's iovecs that cuts off one segment after the other.
struct Cutter {
  const core::TxBurst& burst;
  uint32_t at = 0;
  size_t offset = 0;

  void next(uint32_t size, core::TxBurst* out) {
    out->iov_count = 0;
    out->bytes = out->segment_size = size;
    out->segments = 1;
    while (size > 0 && at < burst.iov_count) {
      const iovec& iov = burst.iov[at];
      size_t take = std::min<size_t>(size, iov.iov_len - offset);
      if (take > 0) out->iov[out->iov_count++] = {static_cast<uint8_t*>(iov.iov_base) + offset, take};
      size -= static_cast<uint32_t>(take);
      offset += take;
      if (offset == iov.iov_len) {
        ++at;
        offset = 0;
      }
    }
  }
};

}  // namespace mrc::datapath
