#include "core/memory.h"

namespace mrc::core {

// A key is (slot index + 1) << 8 | tag. The tag changes with every reuse of the slot, so that a key kept by a peer
// after deregistration does not open the next region in the same slot until 256 reuses later.
namespace {
constexpr uint32_t kTagBits = 8;
}

MemoryTable::MemoryTable(uint32_t salt) : salt_(salt & 0xFF) {}

uint32_t MemoryTable::add(uint8_t* base, uint64_t iova, uint64_t length, uint32_t access, uint32_t pd) {
  uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<uint32_t>(regions_.size());
    regions_.emplace_back();
    free_.reserve(regions_.capacity());  // remove() must not allocate
    regions_[slot].key = ((slot + 1) << kTagBits) | salt_;
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  MemoryRegion& mr = regions_[slot];
  const uint32_t tag = (mr.key + 1) & ((1u << kTagBits) - 1);
  mr = MemoryRegion{base, iova, length, access, pd, ((slot + 1) << kTagBits) | tag};
  ++live_;
  return mr.key;
}

bool MemoryTable::remove(uint32_t key) {
  if (find(key) == nullptr) return false;
  const uint32_t slot = (key >> kTagBits) - 1;
  MemoryRegion& mr = regions_[slot];
  mr.length = 0;
  mr.base = nullptr;
  mr.access = 0;
  mr.iova = UINT64_MAX;  // marks the slot dead; the key stays so that the next tag differs
  free_.push_back(slot);
  --live_;
  return true;
}

const MemoryRegion* MemoryTable::find(uint32_t key) const {
  const uint32_t slot = (key >> kTagBits) - 1;
  if (slot >= regions_.size()) return nullptr;
  const MemoryRegion& mr = regions_[slot];
  return mr.key == key && mr.iova != UINT64_MAX ? &mr : nullptr;
}

}  // namespace mrc::core
