// Protection domains, memory regions, address handles.
#include <infiniband/verbs.h>

#include <cerrno>

#include "interpose/export.h"
#include "interpose/out_of_memory.h"
#include "interpose/real.h"
#include "interpose/registration.h"
#include "objects/address_vector.h"
#include "objects/context.h"
#include "objects/memory.h"
#include "objects/verbs_ops.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using mrc::shim::Context;
using mrc::shim::Mr;
using mrc::shim::Pd;
using mrc::shim::register_ours;

namespace {

template <typename T>
T* refuse() {
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // namespace

extern "C" {

MRC_EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  if (Context::is_ours(context))
    return mrc::shim::or_enomem<ibv_pd*>(nullptr, [&] { return Pd::create(Context::of(context)); });
  MRC_FORWARD(nullptr, ibv_alloc_pd, "IBVERBS_1.1", context);
}

MRC_EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  if (Context::is_ours(pd->context))
    return Context::of(pd->context)->inherited() ? 0 : with_errno(Pd::destroy(pd));  // [VRB-FRK-1]
  MRC_FORWARD(ENOSYS, ibv_dealloc_pd, "IBVERBS_1.1", pd);
}

MRC_EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  if (Context::is_ours(pd->context))
    return register_ours(pd, addr, length, reinterpret_cast<uint64_t>(addr), static_cast<unsigned>(access));
  MRC_FORWARD(nullptr, ibv_reg_mr, "IBVERBS_1.1", pd, addr, length, access);
}

MRC_EXPORT ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  if (Context::is_ours(pd->context)) return register_ours(pd, addr, length, iova, static_cast<unsigned>(access));
  MRC_FORWARD(nullptr, ibv_reg_mr_iova, "IBVERBS_1.7", pd, addr, length, iova, access);
}

MRC_EXPORT ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t iova, unsigned int access) {
  if (Context::is_ours(pd->context)) return register_ours(pd, addr, length, iova, access);
  MRC_FORWARD(nullptr, ibv_reg_mr_iova2, "IBVERBS_1.8", pd, addr, length, iova, access);
}

// Programs probe for it with descriptor -1, and interpret any other error as support.
MRC_EXPORT ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
  if (Context::is_ours(pd->context)) return refuse<ibv_mr>();
  MRC_FORWARD(nullptr, ibv_reg_dmabuf_mr, "IBVERBS_1.12", pd, offset, length, iova, fd, access);
}

MRC_EXPORT int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* addr, size_t length, int access) {
  if (Context::is_ours(mr->context)) return mrc::shim::reregister_ours(mr, flags, pd, addr, length, access);
  MRC_FORWARD(ENOSYS, ibv_rereg_mr, "IBVERBS_1.1", mr, flags, pd, addr, length, access);
}

MRC_EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  if (Context::is_ours(mr->context)) return Mr::destroy(mr);
  MRC_FORWARD(ENOSYS, ibv_dereg_mr, "IBVERBS_1.1", mr);
}

MRC_EXPORT ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) {
  if (Context::is_ours(context)) return refuse<ibv_pd>();
  MRC_FORWARD(nullptr, ibv_import_pd, "IBVERBS_1.10", context, handle);
}
MRC_EXPORT void ibv_unimport_pd(ibv_pd* pd) {
  if (Context::is_ours(pd->context)) return;
  if (auto real = MRC_REAL(ibv_unimport_pd, "IBVERBS_1.10")) real(pd);
}
MRC_EXPORT ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) {
  if (Context::is_ours(pd->context)) return refuse<ibv_mr>();
  MRC_FORWARD(nullptr, ibv_import_mr, "IBVERBS_1.10", pd, handle);
}
MRC_EXPORT void ibv_unimport_mr(ibv_mr* mr) {
  if (Context::is_ours(mr->context)) return;
  if (auto real = MRC_REAL(ibv_unimport_mr, "IBVERBS_1.10")) real(mr);
}
MRC_EXPORT ibv_dm* ibv_import_dm(ibv_context* context, uint32_t handle) {
  if (Context::is_ours(context)) return refuse<ibv_dm>();
  MRC_FORWARD(nullptr, ibv_import_dm, "IBVERBS_1.13", context, handle);
}
MRC_EXPORT void ibv_unimport_dm(ibv_dm* dm) {
  if (Context::is_ours(dm->context)) return;
  if (auto real = MRC_REAL(ibv_unimport_dm, "IBVERBS_1.13")) real(dm);
}

MRC_EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr* attr) {
  if (Context::is_ours(pd->context)) return mrc::shim::create_ah(pd, attr);
  MRC_FORWARD(nullptr, ibv_create_ah, "IBVERBS_1.1", pd, attr);
}
MRC_EXPORT ibv_ah* ibv_create_ah_from_wc(ibv_pd* pd, ibv_wc* wc, ibv_grh* grh, uint8_t port) {
  if (Context::is_ours(pd->context)) {
    ibv_ah_attr attr;
    const int error = mrc::shim::address_of_sender(pd->context, port, *wc, grh, &attr);
    return error == 0 ? mrc::shim::create_ah(pd, &attr) : (errno = error, nullptr);
  }
  MRC_FORWARD(nullptr, ibv_create_ah_from_wc, "IBVERBS_1.1", pd, wc, grh, port);
}
MRC_EXPORT int ibv_init_ah_from_wc(ibv_context* context, uint8_t port, ibv_wc* wc, ibv_grh* grh, ibv_ah_attr* attr) {
  if (Context::is_ours(context)) {
    const int error = mrc::shim::address_of_sender(context, port, *wc, grh, attr);
    return error == 0 ? 0 : (errno = error, -1);
  }
  MRC_FORWARD(-1, ibv_init_ah_from_wc, "IBVERBS_1.1", context, port, wc, grh, attr);
}
MRC_EXPORT int ibv_destroy_ah(ibv_ah* ah) {
  if (Context::is_ours(ah->context)) return Context::of(ah->context)->api().mrc_soft_destroy_ah(ah);
  MRC_FORWARD(ENOSYS, ibv_destroy_ah, "IBVERBS_1.1", ah);
}

}  // extern "C"
