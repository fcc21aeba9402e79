// CompletionRoom: the entries that a completion queue needs so that it never overruns: each user reserves as many as it
// can have completions in it. The queue grows by doubling and never shrinks.
#pragma once

#include <cstdint>

#include "invariant.h"

namespace mrc::shim {

class CompletionRoom {
 public:
  explicit CompletionRoom(uint64_t entries) : entries_(entries) {}

  // Calls `resize` with the new number of entries, if there have to be more. Its errno value; then nothing is reserved.
  template <typename Resize>
  [[nodiscard]] int reserve(uint32_t completions, const Resize& resize) {
    uint64_t entries = entries_;
    while (entries < reserved_ + completions) entries *= 2;
    if (entries > entries_)
      if (const int error = resize(entries)) return error;
    entries_ = entries;
    reserved_ += completions;
    check();
    return 0;
  }
  void release(uint32_t completions) {
    MRC_INVARIANT(completions <= reserved_);
    reserved_ -= completions;
  }
  uint64_t entries() const { return entries_; }
  void check() const { MRC_INVARIANT(entries_ > 0 && reserved_ <= entries_); }

 private:
  uint64_t entries_;
  uint64_t reserved_ = 0;
};

}  // namespace mrc::shim
