// Registered memory: the object of NCCL's mhandle. One registration per member of the virtual device it was made for,
// valid for every connection of that device.
#pragma once

#include <cstddef>
#include <memory>

#include "device.h"

namespace mrc::nccl {

class Memory {
 public:
  // Null: errno. `access` as in ibv_reg_mr.
  static std::unique_ptr<Memory> add(const provider::Provider& api, const Devices& devices, int number, void* data,
                                     size_t size, int access);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  int members() const { return members_; }
  uint32_t lkey(int member) const { return regions_[member]->lkey; }
  uint32_t rkey(int member) const { return regions_[member]->rkey; }

 private:
  explicit Memory(const provider::Provider& api) : api_(api) {}

  const provider::Provider& api_;
  int members_ = 0;
  ibv_mr* regions_[kMaxMembers] = {};
};

}  // namespace mrc::nccl
