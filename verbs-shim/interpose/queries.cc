// Queries and asynchronous events.
#include <infiniband/verbs.h>

#include <fcntl.h>
#include <poll.h>

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>

#include "interpose/export.h"
#include "interpose/real.h"
#include "interruption.h"
#include "objects/base_qp.h"
#include "objects/completion_queue.h"
#include "objects/receive_queue.h"
#include "objects/verbs_ops.h"

#undef ibv_query_port

using mrc::shim::BaseQp;
using mrc::shim::Context;
using mrc::shim::Cq;
using mrc::shim::EventCount;
using mrc::shim::Srq;

namespace {

EventCount* count_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return &Cq::of(event.element.cq)->async_events;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return &Srq::of(event.element.srq)->async_events;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return &BaseQp::of(event.element.qp)->async_events;
    default:
      return nullptr;
  }
}

// The context of an event's object, ours or another's; null for events of a port or device.
ibv_context* context_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return event.element.cq->context;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return event.element.srq->context;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return event.element.qp->context;
    default:
      return nullptr;
  }
}

}  // namespace

extern "C" {

// Its GID type is of the kernel's list: 0 for RoCE v1 and InfiniBand, 1 for RoCE v2.
int ibv_query_gid_type(ibv_context* context, uint8_t port_num, unsigned int index, unsigned int* type);

MRC_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  if (Context::is_ours(context)) return with_errno(mrc::shim::query_device(context, attr));
  MRC_FORWARD(ENOSYS, ibv_query_device, "IBVERBS_1.1", context, attr);
}
// The symbol is the old function: its structure ends before the newer members.
MRC_EXPORT int ibv_query_port(ibv_context* context, uint8_t port, struct _compat_ibv_port_attr* attr) {
  if (Context::is_ours(context)) {
    constexpr size_t kOldSize = offsetof(ibv_port_attr, port_cap_flags2);
    ibv_port_attr full;
    const int error = mrc::shim::query_port(context, port, &full);
    if (error == 0) std::memcpy(static_cast<void*>(attr), &full, kOldSize);
    return with_errno(error);
  }
  MRC_FORWARD(ENOSYS, ibv_query_port, "IBVERBS_1.1", context, port, attr);
}
MRC_EXPORT int ibv_query_gid(ibv_context* context, uint8_t port, int index, union ibv_gid* gid) {
  if (Context::is_ours(context)) {
    const int error = mrc::shim::query_gid(context, port, index, gid);
    return error == 0 ? 0 : (errno = error, -1);
  }
  MRC_FORWARD(-1, ibv_query_gid, "IBVERBS_1.1", context, port, index, gid);
}
MRC_EXPORT int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry,
                                 uint32_t flags, size_t size) {
  if (Context::is_ours(context)) {
    if (flags != 0 || size < sizeof *entry) return with_errno(EINVAL);
    return with_errno(mrc::shim::query_gid_entry(context, port, index, entry));
  }
  MRC_FORWARD(ENOSYS, _ibv_query_gid_ex, "IBVERBS_1.11", context, port, index, entry, flags, size);
}
MRC_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t max, uint32_t flags,
                                        size_t size) {
  if (Context::is_ours(context)) {
    if (flags != 0 || size < sizeof *entries) return -EINVAL;
    ssize_t n = 0;
    for (uint32_t i = 0; i < mrc::shim::gid_table_length(context); ++i) {
      ibv_gid_entry entry;
      if (mrc::shim::query_gid_entry(context, 1, i, &entry) != 0) continue;
      if (static_cast<size_t>(n) == max) return -EINVAL;
      auto* at = reinterpret_cast<char*>(entries) + static_cast<size_t>(n++) * size;
      std::memcpy(at, &entry, sizeof entry);
    }
    return n;
  }
  MRC_FORWARD(-ENOSYS, _ibv_query_gid_table, "IBVERBS_1.11", context, entries, max, flags, size);
}
MRC_EXPORT int ibv_query_gid_type(ibv_context* context, uint8_t port_num, unsigned int index, unsigned int* type) {
  if (Context::is_ours(context)) {
    ibv_gid_entry entry;
    const int error = mrc::shim::query_gid_entry(context, port_num, index, &entry);
    if (error != 0 && error != ENODATA) return errno = error, -1;
    *type = error == 0 ? 1 : 0;
    return 0;
  }
  MRC_FORWARD(-1, ibv_query_gid_type, "IBVERBS_PRIVATE_34", context, port_num, index, type);
}
MRC_EXPORT int ibv_query_pkey(ibv_context* context, uint8_t port, int index, __be16* pkey) {
  if (Context::is_ours(context)) {
    if (port != 1 || index != 0) return errno = EINVAL, -1;
    *pkey = htons(mrc::shim::kPkey);
    return 0;
  }
  MRC_FORWARD(-1, ibv_query_pkey, "IBVERBS_1.1", context, port, index, pkey);
}
MRC_EXPORT int ibv_get_pkey_index(ibv_context* context, uint8_t port, __be16 pkey) {
  if (Context::is_ours(context)) return port == 1 && ntohs(pkey) == mrc::shim::kPkey ? 0 : (errno = EINVAL, -1);
  MRC_FORWARD(-1, ibv_get_pkey_index, "IBVERBS_1.5", context, port, pkey);
}
MRC_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr* attr, uint8_t mac[6], uint16_t* vid) {
  if (Context::is_ours(context)) return errno = EOPNOTSUPP, -1;
  MRC_FORWARD(-1, ibv_resolve_eth_l2_from_gid, "IBVERBS_1.1", context, attr, mac, vid);
}

MRC_EXPORT int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  if (Context::is_ours(context)) {
    Context* const ours = Context::of(context);
    auto& queue = ours->async;
    for (;;) {
      // Without queue pairs no progress thread does this, but a port may still change.
      ours->take_mrc_events();
      if (const auto taken = queue.take(count_of)) {
        *event = *taken;
        return 0;
      }
      const int flags = fcntl(queue.fd(), F_GETFL);
      if (flags >= 0 && (flags & O_NONBLOCK) != 0) return errno = EAGAIN, -1;
      pollfd wait[2] = {{queue.own_fd(), POLLIN, 0}, {ours->soft()->async_fd, POLLIN, 0}};
      if (ppoll(wait, 2, nullptr, nullptr) < 0 && mrc::environment::ends_wait(errno)) return -1;
    }
  }
  MRC_FORWARD(-1, ibv_get_async_event, "IBVERBS_1.1", context, event);
}
MRC_EXPORT void ibv_ack_async_event(ibv_async_event* event) {
  ibv_context* context = context_of(*event);
  if (context != nullptr && Context::is_ours(context)) {
    if (EventCount* count = count_of(*event)) Context::of(context)->async.acknowledge(count, 1);
    return;
  }
  if (context == nullptr) return;  // events of a port are not counted, by libibverbs neither
  if (auto real = MRC_REAL(ibv_ack_async_event, "IBVERBS_1.1")) real(event);
}

}  // extern "C"
