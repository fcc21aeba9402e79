// Registered memory: the object of NCCL's mhandle. One registration per member of the virtual device it was made for,
// valid for every connection of that device.
#pragma once

#include <cstddef>
#include <memory>

#include "device.h"
#include "gpu_memory.h"

namespace mrc::nccl {

class Memory {
 public:
  // Null: errno. `access` as in ibv_reg_mr.
  static std::unique_ptr<Memory> add(const provider::Provider& api, const Devices& devices, int number, void* data,
                                     size_t size, int access);
  // The same for what `mapping` maps of a GPU.
  static std::unique_ptr<Memory> add_gpu(const provider::Provider& api, const Devices& devices, int number, void* data,
                                         size_t size, int access, std::unique_ptr<GpuMapping> mapping);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  int members() const { return members_; }
  // Null: host memory.
  const GpuMapping* gpu() const { return gpu_.get(); }
  // Where the CPU reaches `data`, which is the address that is registered.
  uint64_t address(const void* data) const {
    return reinterpret_cast<uint64_t>(gpu_ != nullptr ? gpu_->at(data) : data);
  }
  uint32_t lkey(int member) const { return regions_[member]->lkey; }
  uint32_t rkey(int member) const { return regions_[member]->rkey; }

 private:
  explicit Memory(const provider::Provider& api) : api_(api) {}

  const provider::Provider& api_;
  std::unique_ptr<GpuMapping> gpu_;
  int members_ = 0;
  ibv_mr* regions_[kMaxMembers] = {};
};

// Host memory of a request from which data of a GPU are sent; kept for the next one.
class Staging {
 public:
  // Null: errno. At least `size` bytes.
  void* room(const provider::Provider& api, const Devices& devices, int number, size_t size);
  const Memory* memory() const { return memory_.get(); }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
  std::unique_ptr<Memory> memory_;
};

}  // namespace mrc::nccl
