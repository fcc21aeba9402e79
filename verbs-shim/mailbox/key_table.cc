#include "mailbox/key_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mrc::shim {

void KeyTable::add(uint32_t key, const Region& region) {
  Region kept = region;
  kept.loan = std::make_shared<char>();
  const WriterLock lock(mutex_);
  regions_[key] = std::move(kept);
}

std::weak_ptr<void> KeyTable::remove(uint32_t key) {
  const WriterLock lock(mutex_);
  const auto it = regions_.find(key);
  if (it == regions_.end()) return {};
  std::weak_ptr<void> lent = it->second.loan;
  regions_.erase(it);
  return lent;
}

Loan KeyTable::lend(uint32_t key, uint64_t addr, uint64_t length, unsigned access, const void* domain) const {
  const ReaderLock lock(mutex_);
  const Region* const r = find(key, addr, length, access, domain);
  return r != nullptr ? r->loan : nullptr;
}

const KeyTable::Region* KeyTable::find(uint32_t key, uint64_t addr, uint64_t length, unsigned access,
                                       const void* domain) const {
  auto it = regions_.find(key);
  if (it == regions_.end()) return nullptr;
  const Region& r = it->second;
  if (r.domain != domain || (r.access & access) != access || addr < r.iova || length > r.length ||
      addr - r.iova > r.length - length)
    return nullptr;
  return &r;
}

bool KeyTable::allowed(uint32_t key, uint64_t addr, uint64_t length, unsigned access, const void* domain) const {
  const ReaderLock lock(mutex_);
  return find(key, addr, length, access, domain) != nullptr;
}

bool KeyTable::scatter(const ibv_sge* sges, int count, const uint8_t* from, uint64_t length, const void* domain) const {
  const ReaderLock lock(mutex_);
  for (int i = 0; i < count && length > 0; ++i) {
    if (sges[i].length == 0) continue;
    const uint64_t n = std::min<uint64_t>(length, sges[i].length);
    const Region* r = find(sges[i].lkey, sges[i].addr, n, IBV_ACCESS_LOCAL_WRITE, domain);
    if (r == nullptr) return false;
    std::memcpy(r->base + (sges[i].addr - r->iova), from, n);
    from += n;
    length -= n;
  }
  return true;
}

std::optional<Segment> KeyTable::landing(const ibv_sge& sge, const void* domain) {
  const WriterLock lock(mutex_);
  const Region* r = find(sge.lkey, sge.addr, sge.length, IBV_ACCESS_LOCAL_WRITE, domain);
  if (r == nullptr) return std::nullopt;
  if (r->landing == 0) regions_[sge.lkey].landing = maker_(r->owner);
  if (r->landing == 0) return std::nullopt;
  return Segment{reinterpret_cast<uint64_t>(r->base) + (sge.addr - r->iova), r->landing, sge.length};
}

std::optional<uint64_t> KeyTable::atomic(uint32_t key, uint64_t addr, const void* domain,
                                         const Request& request) const {
  const ReaderLock lock(mutex_);
  const Region* r = find(key, addr, sizeof(uint64_t), IBV_ACCESS_REMOTE_ATOMIC, domain);
  if (r == nullptr) return std::nullopt;
  auto* at = reinterpret_cast<uint64_t*>(r->base + (addr - r->iova));
  if ((request.flags & kCompareSwap) == 0) return __atomic_fetch_add(at, request.operand, __ATOMIC_SEQ_CST);
  uint64_t before = request.operand;
  __atomic_compare_exchange_n(at, &before, request.swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return before;
}

}  // namespace mrc::shim
