#include "mailbox/key_table.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace mrc::shim {

namespace {

// Writes what is there.
void write_back(uint8_t* at) {
  uint8_t byte = __atomic_load_n(at, __ATOMIC_RELAXED);
  __atomic_compare_exchange_n(at, &byte, byte, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

}  // namespace

void KeyTable::add(uint32_t key, const Region& region) {
  Region kept = region;
  kept.loan = std::make_shared<char>();
  const WriterLock lock(mutex_);
  regions_[key] = std::move(kept);
  check();
}

void KeyTable::own(uint32_t key, LandingOwner* owner) {
  const WriterLock lock(mutex_);
  const auto it = regions_.find(key);
  if (it != regions_.end()) it->second.owner = owner;
}

std::weak_ptr<void> KeyTable::remove(uint32_t key) {
  const WriterLock lock(mutex_);
  const auto it = regions_.find(key);
  if (it == regions_.end()) return {};
  std::weak_ptr<void> lent = it->second.loan;
  regions_.erase(it);
  check();
  return lent;
}

// Every region can be lent, and its addresses do not wrap.
void KeyTable::check() const {
  if constexpr (!kCheckInvariants) return;
  if (!pace_.due(regions_.size())) return;
  for (const auto& [key, region] : regions_)
    MRC_INVARIANT(region.loan != nullptr && region.iova + region.length >= region.iova);
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

// None: done; else the address that could not be accessed.
template <typename Body>
std::optional<uint64_t> KeyTable::guarded(void* memory, uint64_t length, const Body& body) const {
  const auto run = [](void* argument) { (*static_cast<const Body*>(argument))(); };
  const iovec piece = {memory, length};
  void* fault = nullptr;
  if (guard_(run, const_cast<Body*>(&body), &piece, 1, &fault) == 0) return std::nullopt;
  return reinterpret_cast<uint64_t>(fault);
}

Access KeyTable::gone(uint32_t key, const Region& region, uint64_t address) {
  return {Access::kGone, true, address, reinterpret_cast<uint64_t>(region.base), region.length, key};
}

bool KeyTable::gather(const ibv_sge* sges, int count, uint8_t* to) const {
  for (int i = 0; i < count; ++i) {
    const uint32_t length = sges[i].length;
    if (length == 0) continue;  // its address may be null
    void* const from = reinterpret_cast<void*>(sges[i].addr);
    if (guarded(from, length, [&] { std::memcpy(to, from, length); })) return false;
    to += length;
  }
  return true;
}

Access KeyTable::scatter(const ibv_sge* sges, int count, const uint8_t* from, uint64_t length,
                         const void* domain) const {
  const ReaderLock lock(mutex_);
  for (int i = 0; i < count && length > 0; ++i) {
    if (sges[i].length == 0) continue;
    const uint64_t n = std::min<uint64_t>(length, sges[i].length);
    const Region* r = find(sges[i].lkey, sges[i].addr, n, IBV_ACCESS_LOCAL_WRITE, domain);
    if (r == nullptr) return {Access::kRefused};
    uint8_t* const to = r->base + (sges[i].addr - r->iova);
    if (const std::optional<uint64_t> fault = guarded(to, n, [&] { std::memcpy(to, from, n); }))
      return gone(sges[i].lkey, *r, *fault);
    from += n;
    length -= n;
  }
  return {};
}

std::optional<Segment> KeyTable::landing(const ibv_sge& sge, const void* domain) {
  const WriterLock lock(mutex_);
  const Region* r = find(sge.lkey, sge.addr, sge.length, IBV_ACCESS_LOCAL_WRITE, domain);
  if (r == nullptr) return std::nullopt;
  if (r->landing == 0 && r->owner != nullptr) regions_[sge.lkey].landing = r->owner->make_landing();
  if (r->landing == 0) return std::nullopt;
  return Segment{reinterpret_cast<uint64_t>(r->base) + (sge.addr - r->iova), r->landing, sge.length};
}

bool KeyTable::can_land(const Segment* segments, uint32_t count) const {
  constexpr uint64_t kPage = 4096;
  const ReaderLock lock(mutex_);
  for (const Segment& s : std::span(segments, count)) {
    if (std::none_of(regions_.begin(), regions_.end(), [&](const auto& r) { return r.second.landing == s.key; }))
      return false;
    if (s.length == 0) continue;  // it has no last byte
    auto* const memory = reinterpret_cast<uint8_t*>(s.addr);
    const auto write_each_page = [memory, &s] {
      for (uint64_t at = 0; at < s.length; at += kPage) write_back(memory + at);
      write_back(memory + s.length - 1);
    };
    if (guarded(memory, s.length, write_each_page)) return false;
  }
  return true;
}

Access KeyTable::atomic(uint32_t key, uint64_t addr, const void* domain, const Request& request,
                        uint64_t* before) const {
  const ReaderLock lock(mutex_);
  const Region* r = find(key, addr, sizeof(uint64_t), IBV_ACCESS_REMOTE_ATOMIC, domain);
  if (r == nullptr) return {Access::kRefused};
  auto* at = reinterpret_cast<uint64_t*>(r->base + (addr - r->iova));
  *before = request.operand;
  const std::optional<uint64_t> fault = guarded(at, sizeof *at, [&] {
    if ((request.flags & kCompareSwap) == 0) {
      *before = __atomic_fetch_add(at, request.operand, __ATOMIC_SEQ_CST);
    } else {
      __atomic_compare_exchange_n(at, before, request.swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
  });
  return fault ? gone(key, *r, *fault) : Access();
}

}  // namespace mrc::shim
