#include "core/memory.h"

#include <algorithm>
#include <iterator>

#include "invariant.h"

namespace mrc::core {

// A key is, from its lowest bit: 2 bits that tell how many bits the slot has (12, 18 or 24), the slot, and a tag that
// fills the rest. The tag begins at random and changes with every reuse of the slot by a random odd step, so that a key
// kept by a peer after deregistration does not open the next region in the same slot until every tag was used.
namespace {

constexpr Key kFirstKey = Key(256);     // those below are reserved [MRC-MBX-1]
constexpr uint64_t kDead = UINT64_MAX;  // iova of a slot without a region
constexpr uint32_t kSlotBits[4] = {12, 18, 24, 0};

constexpr uint32_t size_class(uint32_t slot) {
  return slot < 1u << 12 ? 0 : slot < 1u << 18 ? 1 : 2;
}
constexpr Key make_key(uint32_t slot, uint32_t tag) {
  const uint32_t c = size_class(slot);
  return Key(tag << (2 + kSlotBits[c]) | slot << 2 | c);
}
uint32_t slot_of(Key key) {
  const uint32_t bits = kSlotBits[key.value() & 3];
  return (key.value() >> 2) & ((1u << bits) - 1);
}

}  // namespace

// One slot more, which is not in the list of free ones.
void MemoryTable::grow() {
  const size_t slots = regions_.size();
  if (slots == regions_.capacity()) {  // everything that can fail comes before anything that changes
    const size_t room = std::max<size_t>(8, slots * 2);
    free_.reserve(room);  // remove() must not allocate
    tags_.reserve(room);
    regions_.reserve(room);
  }
  regions_.emplace_back().iova = kDead;
  tags_.push_back({static_cast<uint32_t>(rng_.next()), static_cast<uint32_t>(rng_.next()) | 1});
}

Key MemoryTable::add(uint8_t* base, uint64_t iova, uint64_t length, uint32_t access, uint32_t pd) {
  uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<uint32_t>(regions_.size());
    grow();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Tag& tag = tags_[slot];
  Key key;
  do {
    key = make_key(slot, tag.next);
    tag.next += tag.step;
  } while (key < kFirstKey);
  regions_[slot] = MemoryRegion{base, iova, length, access, pd, key};
  ++live_;
  return key;
}

// Tables that get the same calls in the same order free and take their slots in the same order, so the search mostly
// ends at its first step.
bool MemoryTable::put(const MemoryRegion& region) {
  const uint32_t slot = slot_of(region.key);
  while (slot >= regions_.size()) {
    grow();
    free_.push_back(static_cast<uint32_t>(regions_.size() - 1));
  }
  const auto found = std::find(free_.rbegin(), free_.rend(), slot);
  if (found == free_.rend()) return false;
  free_.erase(std::next(found).base());
  regions_[slot] = region;
  ++live_;
  return true;
}

bool MemoryTable::remove(Key key) {
  if (find(key) == nullptr) return false;
  const uint32_t slot = slot_of(key);
  MemoryRegion& mr = regions_[slot];
  mr.length = 0;
  mr.base = nullptr;
  mr.access = 0;
  mr.iova = kDead;
  free_.push_back(slot);
  --live_;
  return true;
}

const MemoryRegion* MemoryTable::find(Key key) const {
  const uint32_t slot = slot_of(key);
  if (slot >= regions_.size()) return nullptr;
  const MemoryRegion& mr = regions_[slot];
  return mr.key == key && mr.iova != kDead ? &mr : nullptr;
}

void MemoryTable::check() const {
  if constexpr (!kCheckInvariants) return;
  MRC_INVARIANT(live_ + free_.size() == regions_.size() && tags_.size() == regions_.size());
  MRC_INVARIANT(free_.capacity() >= regions_.size());  // remove() does not allocate
}

}  // namespace mrc::core
