#include "memory.h"

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

Memory::~Memory() {
  for (int m = 0; m < members_; ++m) api_.verbs.dereg_mr(regions_[m]);
}

}  // namespace mrc::nccl
