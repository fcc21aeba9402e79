// Functions that libibverbs has since rdma-core 59 (IBVERBS_1.15 to 1.18). Without these names a program that calls one
// would reach the real library with an object of ours. Buffers, registration by attributes and the port's speed work;
// DMA handles, dmabuf and completion counters need hardware: EOPNOTSUPP. [VRB-INT-3]
//
// The functions have C++ names of their own and the exported names as labels, because verbs.h may declare them or not.
#include "interpose/newer.h"

#include <cerrno>
#include <cmath>

#include "interpose/export.h"
#include "interpose/real.h"
#include "interpose/registration.h"
#include "objects/buffer.h"
#include "objects/context.h"
#include "objects/verbs_ops.h"

using mrc::shim::Context;
using mrc::shim::MrInitAttr;
using mrc::shim::OfContext;

// A function of the given type, name and version whose parameters are `arguments`: `ours` for objects of ours, as found
// by `test`, else the real library's answer, or `missing` with ENOSYS.
#define MRC_NEWER(type, name, version, parameters, arguments, test, ours, missing)                              \
  MRC_EXPORT type newer_##name parameters asm(#name);                                                           \
  type newer_##name parameters {                                                                                \
    if (test) return ours;                                                                                      \
    static const auto real = reinterpret_cast<decltype(&newer_##name)>(mrc::shim::real_symbol(#name, version)); \
    if (real != nullptr) return real arguments;                                                                 \
    errno = ENOSYS;                                                                                             \
    return missing;                                                                                             \
  }

namespace {

std::nullptr_t no_object() {
  errno = EOPNOTSUPP;
  return nullptr;
}

int no_descriptor(int error) {
  errno = error;
  return -1;
}

ibv_mr* register_by_attributes(ibv_pd* pd, const MrInitAttr* attr) {
  using namespace mrc::shim;
  constexpr uint64_t kServed = kMrIova | kMrAddr | kMrBuffer;
  if ((attr->comp_mask & ~kServed) != 0) return no_object();
  const bool outside = (attr->comp_mask & kMrBuffer) != 0 && !buffer_contains(pd, attr->buf, attr->addr, attr->length);
  if ((attr->comp_mask & kMrAddr) == 0 || outside) {
    errno = EINVAL;
    return nullptr;
  }
  const uint64_t iova = (attr->comp_mask & kMrIova) != 0 ? attr->iova : reinterpret_cast<uint64_t>(attr->addr);
  return register_ours(pd, attr->addr, attr->length, iova, static_cast<unsigned>(attr->access));
}

ibv_mr* register_buffer(ibv_pd* pd, ibv_buf* buf, void* addr, size_t length, int access) {
  MrInitAttr attr{};
  attr.comp_mask = mrc::shim::kMrAddr | mrc::shim::kMrBuffer;
  attr.addr = addr;
  attr.length = length;
  attr.buf = buf;
  attr.access = access;
  return register_by_attributes(pd, &attr);
}

bool ours(const ibv_context* context) {
  return Context::is_ours(context);
}

}  // namespace

extern "C" {

MRC_NEWER(ibv_mr*, ibv_reg_mr_ex, "IBVERBS_1.15", (ibv_pd * pd, MrInitAttr* attr), (pd, attr), ours(pd->context),
          register_by_attributes(pd, attr), nullptr)
MRC_NEWER(void*, ibv_alloc_dmah, "IBVERBS_1.15", (ibv_context * context, void* attr), (context, attr), ours(context),
          no_object(), nullptr)
MRC_NEWER(int, ibv_dealloc_dmah, "IBVERBS_1.15", (OfContext * dmah), (dmah), ours(dmah->context),
          with_errno(EOPNOTSUPP), ENOSYS)
MRC_NEWER(int, ibv_dm_export_dmabuf_fd, "IBVERBS_1.16", (ibv_dm * dm), (dm), ours(dm->context),
          no_descriptor(EOPNOTSUPP), -1)
// In units of 100 Mb/s.
MRC_NEWER(int, ibv_query_port_speed, "IBVERBS_1.16", (ibv_context * context, uint32_t port, uint64_t* speed),
          (context, port, speed), ours(context), with_errno(mrc::shim::query_port_speed(context, port, speed)), ENOSYS)

MRC_NEWER(void*, ibv_alloc_buf, "IBVERBS_1.17", (ibv_pd * pd, size_t size, ibv_buf** buf), (pd, size, buf),
          ours(pd->context), mrc::shim::allocate_buffer(pd, size, buf), nullptr)
MRC_NEWER(void, ibv_free_buf, "IBVERBS_1.17", (ibv_buf * buf), (buf), mrc::shim::is_our_buffer(buf),
          mrc::shim::free_buffer(buf), void())
MRC_NEWER(ibv_mr*, ibv_reg_buf_mr, "IBVERBS_1.17", (ibv_pd * pd, ibv_buf* buf, void* addr, size_t length, int access),
          (pd, buf, addr, length, access), ours(pd->context), register_buffer(pd, buf, addr, length, access), nullptr)

// A buffer of ordinary memory has no descriptor: libibverbs' answer for such.
MRC_NEWER(int, ibv_export_buf_dmabuf_fd, "IBVERBS_1.18", (ibv_buf * buf), (buf), mrc::shim::is_our_buffer(buf),
          no_descriptor(ENODATA), -1)
MRC_NEWER(int, _ibv_query_comp_cntr_caps, "IBVERBS_1.18", (ibv_context * context, void* caps, size_t size),
          (context, caps, size), ours(context), with_errno(EOPNOTSUPP), ENOSYS)
MRC_NEWER(void*, ibv_create_comp_cntr, "IBVERBS_1.18", (ibv_context * context, void* attr), (context, attr),
          ours(context), no_object(), nullptr)
MRC_NEWER(int, ibv_qp_attach_comp_cntr, "IBVERBS_1.18", (ibv_qp * qp, OfContext* counter, void* attr),
          (qp, counter, attr), ours(qp->context), with_errno(EOPNOTSUPP), ENOSYS)
MRC_NEWER(int, ibv_destroy_comp_cntr, "IBVERBS_1.18", (OfContext * counter), (counter), ours(counter->context),
          with_errno(EOPNOTSUPP), ENOSYS)

#define MRC_COUNTER(name, type)                                                                                     \
  MRC_NEWER(int, name, "IBVERBS_1.18", (OfContext * counter, type value), (counter, value), ours(counter->context), \
            with_errno(EOPNOTSUPP), ENOSYS)
MRC_COUNTER(ibv_set_comp_cntr, uint64_t)
MRC_COUNTER(ibv_set_err_comp_cntr, uint64_t)
MRC_COUNTER(ibv_inc_comp_cntr, uint64_t)
MRC_COUNTER(ibv_inc_err_comp_cntr, uint64_t)
MRC_COUNTER(ibv_read_comp_cntr, uint64_t*)
MRC_COUNTER(ibv_read_err_comp_cntr, uint64_t*)
#undef MRC_COUNTER

}  // extern "C"
