// The key table: every access to registered memory, local or remote, goes through find(). lkey and rkey are the same
// number. An entry maps [iova, iova + length) to process memory; `base` may be null in simulations without payload.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/rng.h"
#include "core/types.h"

namespace mrc::core {

struct MemoryRegion {
  uint8_t* base = nullptr;
  uint64_t iova = 0;
  uint64_t length = 0;
  uint32_t access = 0;  // kAccessLocalWrite and others (types.h)
  uint32_t pd = 0;
  Key key;

  bool covers(uint64_t va, uint64_t bytes) const {
    return va >= iova && bytes <= length && va - iova <= length - bytes;
  }
  uint8_t* at(uint64_t va) const { return base + (va - iova); }
  bool holds(uint64_t address) const { return address - reinterpret_cast<uint64_t>(base) < length; }
  MemoryFault fault_at(uint64_t address, bool write) const {
    return {address, reinterpret_cast<uint64_t>(base), length, key, write};
  }
};

class MemoryTable {
 public:
  // The bits of a key that do not name its slot come from `seed`: a sender cannot guess them [MRC-SEC-8].
  explicit MemoryTable(uint64_t seed) : rng_(seed) {}
  // Returns the key (never 0); access and pd as given.
  Key add(uint8_t* base, uint64_t iova, uint64_t length, uint32_t access, uint32_t pd);
  // Adds a region under a key that another table with the same regions has returned. False: this table has another
  // region in its place.
  [[nodiscard]] bool put(const MemoryRegion& region);
  bool remove(Key key);
  // Null for an unknown or removed key. The pointer is valid until the next add or remove.
  const MemoryRegion* find(Key key) const;
  uint32_t size() const { return live_; }
  void check() const;

 private:
  struct Tag {
    uint32_t next = 0, step = 1;
  };
  void grow();
  Rng rng_;
  uint32_t live_ = 0;
  std::vector<MemoryRegion> regions_;
  std::vector<Tag> tags_;  // by slot
  std::vector<uint32_t> free_;
};

}  // namespace mrc::core
