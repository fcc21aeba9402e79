// Arithmetic of NCCL's operators over every type that it has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "player/functions.h"

namespace mrc::nccl_rig::player {

size_t type_size(int nccl_type);

// An operator with its argument, for one type. Pointers may be equal, not otherwise overlap.
struct Arithmetic {
  DeviceOp op = kDevSum;
  int type = 0;
  uint64_t argument = 0;

  bool prepares() const { return op == kDevPreMulSum; }
  bool finishes() const { return op == kDevSumPostDiv; }
  // to = a op b
  void combine(void* to, const void* a, const void* b, size_t elements) const;
  // to = a times the argument (PreMulSum): what each rank does to its own input
  void prepare(void* to, const void* a, size_t elements) const;
  // to = a divided by the argument (SumPostDiv): done once to the result
  void finish(void* to, const void* a, size_t elements) const;
};

}  // namespace mrc::nccl_rig::player
