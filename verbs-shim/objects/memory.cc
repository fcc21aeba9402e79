#include "objects/memory.h"

#include <cerrno>
#include <memory>
#include <new>

#include "progress/settle.h"

namespace mrc::shim {

namespace {

// Far above retransmission timeouts: a peer that exists acknowledges within. Where one has not, what else is lent
// probably is lent for it, too, and a program that ends need not wait as long for each region.
constexpr uint64_t kMaxLoanNs = 2'000'000'000;

}  // namespace

ibv_pd* Pd::create(Context* context) {
  std::unique_ptr<Pd> pd(new Pd);
  ibv_pd* const soft = context->api().mrc_soft_alloc_pd(context->soft());
  if (soft == nullptr) return nullptr;
  pd->context_ = context;
  pd->soft_ = soft;
  pd->handle_ = {{context->verbs(), soft->handle}, pd.get()};
  if (!pd->register_handle()) {
    const int error = errno;
    context->api().mrc_soft_dealloc_pd(soft);
    errno = error;
    return nullptr;
  }
  context->count_child(1);
  return &pd.release()->handle_.base;
}

// [VRB-MRC-1]
bool Pd::register_handle() {
  return context_->api().mrc_soft_add_pd_handle(soft_, &handle_.base) == 0;
}

ibv_pd* Pd::create_parent(Context* context, ibv_pd* of_pd) {
  auto* pd = new Pd;
  pd->context_ = context;
  pd->parent_ = of(of_pd)->root();
  pd->soft_ = pd->parent_->soft_;
  pd->handle_ = {{context->verbs(), of_pd->handle}, pd};
  if (!pd->register_handle()) {
    delete pd;
    return nullptr;
  }
  ++pd->parent_->users;
  context->count_child(1);
  return &pd->handle_.base;
}

int Pd::destroy(ibv_pd* verbs) {
  Pd* const pd = of(verbs);
  if (pd->users.load() > 0) return EBUSY;
  if (const int error = pd->context_->api().mrc_soft_remove_pd_handle(verbs)) return error;  // EBUSY: MRC QPs use it
  if (pd->parent_ != nullptr) {
    --pd->parent_->users;
  } else if (const int error = pd->context_->api().mrc_soft_dealloc_pd(pd->soft_)) {
    return error;
  }
  pd->context_->count_child(-1);
  delete pd;
  return 0;
}

ibv_mr* Mr::add(Pd* domain, void* addr, size_t length, uint64_t iova, int access) {
  Context* const context = domain->context();
  ibv_mr* const soft = context->api().mrc_soft_reg_mr_iova(domain->soft(), addr, length, iova, access);
  if (soft == nullptr) return nullptr;
  KeyTable::Region region;
  region.base = static_cast<uint8_t*>(addr);
  region.iova = iova;
  region.length = length;
  region.access = static_cast<unsigned>(access);
  region.domain = domain->root();
  try {
    context->keys().add(soft->lkey, region);
  } catch (const std::bad_alloc&) {
    context->api().mrc_soft_dereg_mr(soft);
    errno = ENOMEM;
    return nullptr;
  }
  ++domain->users;
  return soft;
}

void Mr::take(ibv_pd* pd, ibv_mr* soft, uint64_t iova, int access) {
  pd_ = Pd::of(pd);
  soft_ = soft;
  iova_ = iova;
  access_ = access;
  handle_.base = *soft;
  handle_.base.context = pd_->context()->verbs();
  handle_.base.pd = pd;
  handle_.self = this;
  // Last: another thread may use the key already, that of a region which is gone, and make_landing() needs the members.
  pd_->context()->keys().own(soft->lkey, this);
}

ibv_mr* Mr::create(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  std::unique_ptr<Mr> mr(new Mr);
  ibv_mr* const soft = add(Pd::of(pd), addr, length, iova, access);
  if (soft == nullptr) return nullptr;
  mr->take(pd, soft, iova, access);
  return &mr.release()->handle_.base;
}

int Mr::release() {
  Context* const context = pd_->context();
  // Data of a peer's READ may have to be sent again although the READ is over. Should the peer have ended, the queue
  // pair fails at the next attempt. [VRB-RSP-10]
  const std::weak_ptr<void> lent = context->keys().remove(soft_->lkey);
  settle_one_of_many(
      context, [&lent] { return lent.expired(); }, kMaxLoanNs);
  if (landing_ != nullptr) context->api().mrc_soft_dereg_mr(landing_);
  landing_ = nullptr;
  const int error = context->api().mrc_soft_dereg_mr(soft_);
  --pd_->users;
  return error;
}

int Mr::destroy(ibv_mr* verbs) {
  Mr* const mr = reinterpret_cast<Handle*>(verbs)->self;
  const int error = mr->release();
  delete mr;
  return error;
}

// [VRB-MEM-1]
int Mr::reregister(ibv_mr* verbs, int flags, ibv_pd* pd, void* addr, size_t length, int access) {
  Mr* const mr = reinterpret_cast<Handle*>(verbs)->self;
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool other_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0, other_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  if (flags == 0 || (flags & ~static_cast<int>(IBV_REREG_MR_FLAGS_SUPPORTED)) != 0 ||
      (moves && (addr == nullptr || length == 0)) || (access != 0 && !other_access) ||
      (other_pd && (pd == nullptr || pd->context != verbs->context))) {
    errno = EINVAL;
    return IBV_REREG_MR_ERR_INPUT;
  }
  ibv_pd* const to = other_pd ? pd : verbs->pd;
  const uint64_t iova = moves ? reinterpret_cast<uint64_t>(addr) : mr->iova_;
  const int rights = other_access ? access : mr->access_;
  ibv_mr* const soft =
      moves ? add(Pd::of(to), addr, length, iova, rights) : add(Pd::of(to), verbs->addr, verbs->length, iova, rights);
  if (soft == nullptr) return IBV_REREG_MR_ERR_CMD;
  mr->release();  // what it was; the new region has no owner until take()
  mr->take(to, soft, iova, rights);
  return 0;
}

uint32_t Mr::make_landing() {
  landing_ = pd_->context()->api().mrc_soft_reg_mr_iova(
      pd_->soft(), soft_->addr, soft_->length, reinterpret_cast<uint64_t>(soft_->addr),
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | MRC_SOFT_ACCESS_ANY_QP);
  return landing_ != nullptr ? landing_->rkey : 0;
}

}  // namespace mrc::shim
