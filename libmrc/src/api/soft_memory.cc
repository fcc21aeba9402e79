// Protection domains and memory regions of a software device: standard ibv structures, with the library's own members
// behind them. lkey and rkey are the same number, from the engine's key table.
#include <atomic>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "api/errors.h"
#include "api/faults.h"
#include "api/held_at_fork.h"
#include "api/inherited.h"
#include "api/mapped_memory.h"
#include "api/soft_context.h"
#include "api/soft_memory.h"

using mrc::api::errno_value;
using mrc::api::null_with;
using mrc::api::SoftContext;
using mrc::api::SoftMr;
using mrc::api::SoftPd;

namespace {

constexpr unsigned kNeedLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
// Optional ones (relaxed ordering among them) may be ignored by definition.
constexpr unsigned kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_HUGETLB |
                                  IBV_ACCESS_OPTIONAL_RANGE | MRC_SOFT_ACCESS_ANY_QP;

std::atomic<uint32_t> next_pd_id{1};

// Protection domains by address, handles among them.
struct PdEntry {
  SoftPd* domain;
  int users = 0;  // regions, QPs, and for the domain itself its handles and the objects held through them
};
mrc::Mutex pd_mutex;
std::unordered_map<const ibv_pd*, PdEntry>& pds() ABSL_EXCLUSIVE_LOCKS_REQUIRED(pd_mutex) {
  // Never destroyed: programs free their objects from destructors that run at exit.
  static auto* all = new std::unordered_map<const ibv_pd*, PdEntry>;
  return *all;
}

[[gnu::constructor]] void hold_domains_at_fork() {
  mrc::api::hold_at_fork<pd_mutex>();
}

PdEntry* find_pd(const ibv_pd* pd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pd_mutex) {
  auto it = pds().find(pd);
  return it != pds().end() ? &it->second : nullptr;
}
void count_users(const ibv_pd* pd, int by) ABSL_EXCLUSIVE_LOCKS_REQUIRED(pd_mutex) {
  PdEntry* const entry = find_pd(pd);
  entry->users += by;
  if (&entry->domain->pd != pd) find_pd(&entry->domain->pd)->users += by;
}

int check_region(const ibv_pd* pd, const void* addr, size_t length, uint64_t iova, int access) {
  const auto flags = static_cast<unsigned>(access);
  const auto start = reinterpret_cast<uint64_t>(addr);
  if (pd == nullptr || length == 0 || (flags & ~kKnownAccess) != 0) return EINVAL;
  if ((flags & kNeedLocalWrite) != 0 && (flags & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
  if (start + length < start || iova + length < iova) return EINVAL;
  if (!mrc::api::memory_mapped(start, length, (flags & IBV_ACCESS_LOCAL_WRITE) != 0)) return EFAULT;
  return 0;
}

}  // namespace

namespace mrc::api {

SoftPd* SoftPd::of(const ibv_pd* pd) {
  const MutexLock lock(pd_mutex);
  const PdEntry* const entry = find_pd(pd);
  return entry != nullptr ? entry->domain : nullptr;
}

PdHold hold_pd(const ibv_pd* pd) {
  const MutexLock lock(pd_mutex);
  if (find_pd(pd) == nullptr) return nullptr;
  count_users(pd, 1);
  return PdHold(pd);
}

void ReleasePd::operator()(const ibv_pd* pd) const {
  const MutexLock lock(pd_mutex);
  count_users(pd, -1);
}

}  // namespace mrc::api

extern "C" {

ibv_pd* mrc_soft_alloc_pd(ibv_context* context) {
  SoftContext* soft = SoftContext::of(context);
  if (soft == nullptr) return null_with(EINVAL);
  if (mrc::api::inherited(*soft)) return null_with(EPERM);
  return mrc::api::or_enomem<ibv_pd*>(nullptr, [&] {
    auto made = std::make_unique<SoftPd>();
    made->pd.context = soft->verbs();
    made->pd.handle = made->id = next_pd_id.fetch_add(1);
    made->soft = soft;
    const mrc::MutexLock lock(pd_mutex);
    pds()[&made->pd] = {made.get()};
    soft->add_child();
    return &made.release()->pd;
  });
}

int mrc_soft_dealloc_pd(ibv_pd* pd) {
  const mrc::MutexLock lock(pd_mutex);
  const PdEntry* const entry = find_pd(pd);
  if (entry == nullptr || &entry->domain->pd != pd) return errno_value(EINVAL);
  if (mrc::api::inherited(*entry->domain->soft)) return 0;
  if (entry->users > 0) return errno_value(EBUSY);
  SoftPd* const domain = entry->domain;
  domain->soft->remove_child();
  pds().erase(pd);
  delete domain;
  return 0;
}

// [API-HND-1]
int mrc_soft_add_pd_handle(ibv_pd* pd, ibv_pd* handle) {
  return mrc::api::or_enomem<int>(ENOMEM, [&] {
    const mrc::MutexLock lock(pd_mutex);
    const PdEntry* const entry = find_pd(pd);
    if (handle == nullptr || entry == nullptr) return errno_value(EINVAL);
    SoftPd* const domain = entry->domain;
    if (!pds().try_emplace(handle, PdEntry{domain}).second) return errno_value(EINVAL);
    count_users(&domain->pd, 1);
    return 0;
  });
}

int mrc_soft_remove_pd_handle(ibv_pd* handle) {
  const mrc::MutexLock lock(pd_mutex);
  const PdEntry* const entry = find_pd(handle);
  if (entry == nullptr || &entry->domain->pd == handle) return errno_value(EINVAL);
  if (entry->users > 0) return errno_value(EBUSY);
  count_users(&entry->domain->pd, -1);
  pds().erase(handle);
  return 0;
}

ibv_mr* mrc_soft_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  return mrc_soft_reg_mr_iova(pd, addr, length, reinterpret_cast<uint64_t>(addr), access);
}

ibv_mr* mrc_soft_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  if (const int error = check_region(pd, addr, length, iova, access)) return null_with(error);
  return mrc::api::or_enomem<ibv_mr*>(nullptr, [&]() -> ibv_mr* {
    auto made = std::make_unique<SoftMr>();
    made->pd = mrc::api::hold_pd(pd);
    if (made->pd == nullptr) return null_with(EINVAL);
    const SoftPd* const domain = SoftPd::of(pd);
    made->soft = domain->soft;
    if (mrc::api::inherited(*domain->soft)) return null_with(EPERM);
    const mrc::Key key = made->soft->shards().register_memory(static_cast<uint8_t*>(addr), iova, length,
                                                              static_cast<uint32_t>(access), domain->id);
    made->mr.lkey = made->mr.rkey = key.value();
    made->mr.context = domain->pd.context;
    made->mr.pd = pd;
    made->mr.addr = addr;
    made->mr.length = length;
    made->mr.handle = made->mr.lkey;
    mrc::api::catch_faults();
    return &made.release()->mr;
  });
}

// [API-MEM-1] spec/clients.md rule 16: only this errno, also for the probe with a descriptor of -1.
ibv_mr* mrc_soft_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int) {
  return null_with(EOPNOTSUPP);
}

int mrc_soft_dereg_mr(ibv_mr* mr) {
  if (mr == nullptr) return errno_value(EINVAL);
  SoftMr* const region = SoftMr::of(mr);
  if (mrc::api::inherited(*region->soft)) return 0;
  region->soft->shards().deregister_memory(mrc::Key(mr->lkey));
  delete region;
  return 0;
}

}  // extern "C"
