// HeldBurst: the copy of a burst, or of its last segments, that could not be sent at once. It does not refer to the
// memory of the burst, which may be gone by the time it is sent; keeps its own for the next one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "core/burst.h"

namespace mrc::datapath {

class HeldBurst {
 public:
  // Without the first `done` segments. Throws std::bad_alloc.
  void assign(const core::TxBurst& burst, uint32_t done = 0);
  // The first ones of what is left were sent; not all.
  void drop(uint32_t segments);

  const wire::Flow& flow() const { return flow_; }
  PlaneId plane() const { return plane_; }
  uint32_t segment_size() const { return segment_size_; }
  uint32_t bytes() const { return static_cast<uint32_t>(bytes_.size()) - begin_; }
  iovec whole() const;  // for sending: nothing is written there
  // Makes it a burst that refers to this object.
  void view(core::TxBurst* burst) const;

 private:
  wire::Flow flow_;
  PlaneId plane_;
  EvIndex ev_index_;
  uint8_t hop_limit_ = 0;
  uint32_t segments_ = 0;
  uint32_t segment_size_ = 0;
  uint32_t begin_ = 0;  // of what is left in bytes_
  std::vector<uint8_t> bytes_;
};

}  // namespace mrc::datapath
