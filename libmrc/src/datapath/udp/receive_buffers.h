// ReceiveBuffers: a small set of buffers of one size that are used again from the first one at every call, so that they
// stay in the cache.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "invariant.h"
#include "result.h"

namespace mrc::datapath {

class ReceiveBuffers {
 public:
  // As many as `bytes`, a multiple of 4,096, have room for, `max` at most.
  Status open(uint32_t bytes, uint32_t buffer_bytes, uint32_t max) {
    buffer_bytes_ = buffer_bytes;
    count_ = std::min(bytes / buffer_bytes, max);
    memory_.reset(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes)));
    if (!memory_) return Error{ENOMEM, "no memory for receive buffers"};
    std::memset(memory_.get(), 0, bytes);  // fault the pages in now, not with the first packets
    return {};
  }

  uint32_t buffer_bytes() const { return buffer_bytes_; }
  uint32_t available() const { return count_ - used_; }
  // The i-th of those available.
  uint8_t* at(uint32_t i) const {
    MRC_INVARIANT(i < available());
    return memory_.get() + static_cast<size_t>(used_ + i) * buffer_bytes_;
  }
  // The first n have data that the engine is given.
  void take(uint32_t n) {
    MRC_INVARIANT(n <= available());
    used_ += n;
  }
  // The engine has done with all of them.
  void recycle() { used_ = 0; }

 private:
  struct Free {
    void operator()(uint8_t* p) const { std::free(p); }
  };

  std::unique_ptr<uint8_t, Free> memory_;
  uint32_t buffer_bytes_ = 0;
  uint32_t count_ = 0;
  uint32_t used_ = 0;  // taken since recycle()
};

}  // namespace mrc::datapath
