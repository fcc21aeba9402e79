#include "memory.h"

#include <bit>
#include <utility>

namespace mrc::nccl {

std::unique_ptr<Memory> Memory::add(const provider::Provider& api, const Devices& devices, int number, void* data,
                                    size_t size, int access) {
  std::unique_ptr<Memory> memory(new Memory(api));
  const size_t members = devices.virtual_device(number).members.size();
  for (size_t m = 0; m < members; ++m) {
    ibv_mr* region = api.verbs.reg_mr(devices.member(number, static_cast<int>(m)).pd, data, size, access);
    if (region == nullptr) return nullptr;
    memory->regions_[memory->members_++] = region;
  }
  return memory;
}

std::unique_ptr<Memory> Memory::add_gpu(const provider::Provider& api, const Devices& devices, int number, void* data,
                                        size_t size, int access, std::unique_ptr<GpuMapping> mapping) {
  auto memory = add(api, devices, number, mapping->at(data), size, access);
  if (memory != nullptr) memory->gpu_ = std::move(mapping);
  return memory;
}

void* Staging::room(const provider::Provider& api, const Devices& devices, int number, size_t size) {
  if (size <= size_) return bytes_.get();
  memory_.reset();
  size_ = 0;
  const size_t wanted = std::bit_ceil(size);
  bytes_ = std::make_unique_for_overwrite<char[]>(wanted);
  memory_ = Memory::add(api, devices, number, bytes_.get(), wanted, IBV_ACCESS_LOCAL_WRITE);
  if (memory_ == nullptr) return nullptr;
  size_ = wanted;
  return bytes_.get();
}

Memory::~Memory() {
  for (int m = 0; m < members_; ++m) api_.verbs.dereg_mr(regions_[m]);
}

}  // namespace mrc::nccl
