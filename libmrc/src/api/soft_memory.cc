// Protection domains and memory regions of a software device: standard ibv structures, with what the library needs to
// know behind them. lkey and rkey are the same number, from the engine's key table.
#include <atomic>
#include <cstring>
#include <memory>

#include "api/errors.h"
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

extern "C" {

ibv_pd* mrc_soft_alloc_pd(ibv_context* context) {
  SoftContext* soft = SoftContext::of(context);
  if (soft == nullptr) return null_with(EINVAL);
  auto* made = new (std::nothrow) SoftPd;
  if (made == nullptr) return null_with(ENOMEM);
  made->pd.context = context;
  made->pd.handle = made->id = next_pd_id.fetch_add(1);
  made->soft = soft;
  soft->add_child();
  return &made->pd;
}

int mrc_soft_dealloc_pd(ibv_pd* pd) {
  if (pd == nullptr) return errno_value(EINVAL);
  SoftPd* soft = SoftPd::of(pd);
  if (soft->users.load() > 0) return errno_value(EBUSY);
  soft->soft->remove_child();
  delete soft;
  return 0;
}

ibv_mr* mrc_soft_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  return mrc_soft_reg_mr_iova(pd, addr, length, reinterpret_cast<uint64_t>(addr), access);
}

ibv_mr* mrc_soft_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  if (const int error = check_region(pd, addr, length, iova, access)) return null_with(error);
  SoftPd* domain = SoftPd::of(pd);
  return mrc::api::or_enomem<ibv_mr*>(nullptr, [&] {
    auto made = std::make_unique<SoftMr>();
    mrc::device::Device& device = domain->soft->device();
    {
      std::lock_guard lock(device.mutex());
      made->mr.lkey = made->mr.rkey = device.endpoint().memory().add(static_cast<uint8_t*>(addr), iova, length,
                                                                     static_cast<uint32_t>(access), domain->id);
    }
    made->mr.context = pd->context;
    made->mr.pd = pd;
    made->mr.addr = addr;
    made->mr.length = length;
    made->mr.handle = made->mr.lkey;
    domain->users.fetch_add(1);
    return &made.release()->mr;
  });
}

// [API-MEM-1] clients.md rule 16: this errno and no other, also for the probe with a descriptor of -1.
ibv_mr* mrc_soft_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int) {
  return null_with(EOPNOTSUPP);
}

int mrc_soft_dereg_mr(ibv_mr* mr) {
  if (mr == nullptr) return errno_value(EINVAL);
  SoftPd* domain = SoftPd::of(mr->pd);
  mrc::device::Device& device = domain->soft->device();
  {
    // Under the device's lock no packet is being placed, so the memory is the caller's again when this returns.
    std::lock_guard lock(device.mutex());
    device.endpoint().memory().remove(mr->lkey);
  }
  domain->users.fetch_sub(1);
  delete SoftMr::of(mr);
  return 0;
}

}  // extern "C"
