// The 41 functions of mrc.h and mrc_ctl.h under their own names, for programs that look them up in this file, or that
// were built against another vendor's MRC library and are started with this one preloaded: each calls the process's
// MRC library. They have no version (verbs.map), so they precede a function of any version. [VRB-MRC-2]
//
// Without an MRC library each fails with ENOSYS in the way in which it reports other errors; the reason was logged.
#include <infiniband/verbs.h>

#include <dlfcn.h>

#include <cerrno>

#include "interpose/export.h"
#include "objects/device.h"
#include "provider/provider.h"

namespace {

// The function of the table at `member`; null when there is none.
template <typename Function>
Function* mrc_function(Function* mrc::shim::Provider::*member) {
  const mrc::shim::MrcLibrary* const library = mrc::shim::mrc_library();
  return library != nullptr ? library->table.*member : nullptr;
}

}  // namespace

extern "C" {

#define MRC_CALL(type, failure, name, parameters, ...)                                   \
  MRC_EXPORT type name parameters {                                                      \
    if (auto* call = mrc_function(&mrc::shim::Provider::name)) return call(__VA_ARGS__); \
    errno = ENOSYS;                                                                      \
    return failure;                                                                      \
  }
#define MRC_VERSIONS(name)                                                                                      \
  MRC_EXPORT void name(uint32_t* current, uint32_t* last, uint32_t* vendor, uint32_t* last_vendor) {            \
    if (auto* call = mrc_function(&mrc::shim::Provider::name)) return call(current, last, vendor, last_vendor); \
    for (uint32_t * version : {current, last, vendor, last_vendor})                                             \
      if (version != nullptr) *version = 0;                                                                     \
  }

// ---- mrc.h
MRC_VERSIONS(mrc_query_version)
MRC_CALL(int, -1, mrc_query_device, (ibv_context * c, mrc_device_attr* attr, int* supported), c, attr, supported)
MRC_CALL(int, -1, mrc_query_device_ex, (ibv_context * c, mrc_context* m, mrc_device_attr* attr, int* supported), c, m,
         attr, supported)
MRC_CALL(mrc_context*, nullptr, mrc_create_context, (ibv_context * c, mrc_context_attr* attr), c, attr)
MRC_CALL(int, -1, mrc_destroy_context, (mrc_context * m), m)
MRC_CALL(int, ENOSYS, mrc_create_comp_channel, (mrc_context * m, mrc_comp_channel** channel), m, channel)
MRC_CALL(int, -1, mrc_get_comp_channel_fd, (mrc_comp_channel * channel, int* fd), channel, fd)
MRC_CALL(int, ENOSYS, mrc_destroy_comp_channel, (mrc_comp_channel * channel), channel)
MRC_CALL(mrc_cq*, nullptr, mrc_create_cq, (mrc_context * m, int cqe, void* of, mrc_comp_channel* channel, int vector),
         m, cqe, of, channel, vector)
MRC_CALL(int, -1, mrc_poll_cq, (mrc_cq * cq, int n, ibv_wc* wc), cq, n, wc)
MRC_CALL(int, ENOSYS, mrc_req_notify_cq, (mrc_cq * cq, int solicited_only), cq, solicited_only)
MRC_CALL(int, -1, mrc_get_cq_event, (mrc_comp_channel * channel, mrc_cq** cq, void** of), channel, cq, of)
MRC_CALL(void, , mrc_ack_cq_events, (mrc_cq * cq, unsigned int n), cq, n)
MRC_CALL(int, ENOSYS, mrc_destroy_cq, (mrc_cq * cq), cq)
MRC_CALL(mrc_qp_hint*, nullptr, mrc_create_qp_hint, (mrc_context * m, mrc_qp_hint_init_attr* init), m, init)
MRC_CALL(int, -1, mrc_destroy_qp_hint, (mrc_qp_hint * hint), hint)
MRC_CALL(int, -1, mrc_query_qp_hint, (mrc_qp_hint * hint, mrc_qp_hint_attr* attr, int mask), hint, attr, mask)
MRC_CALL(int, -1, mrc_modify_qp_hint, (mrc_qp_hint * hint, mrc_qp_hint_attr* attr, int mask), hint, attr, mask)
MRC_CALL(mrc_qp*, nullptr, mrc_create_qp, (mrc_context * m, mrc_qp_init_attr* init), m, init)
MRC_CALL(int, ENOSYS, mrc_destroy_qp, (mrc_qp * qp), qp)
MRC_CALL(int, ENOSYS, mrc_query_qp,
         (mrc_qp * qp, ibv_qp_attr* v, int v_mask, mrc_qp_attr* attr, int mask, mrc_qp_init_attr* init), qp, v, v_mask,
         attr, mask, init)
MRC_CALL(int, ENOSYS, mrc_modify_qp, (mrc_qp * qp, ibv_qp_attr* v, int v_mask, mrc_qp_attr* attr, int mask), qp, v,
         v_mask, attr, mask)
MRC_CALL(int, -1, mrc_get_qpn, (mrc_qp * qp, uint32_t* qpn), qp, qpn)
MRC_CALL(int, ENOSYS, mrc_post_recv, (mrc_qp * qp, ibv_recv_wr* wr, ibv_recv_wr** bad), qp, wr, bad)
MRC_CALL(int, ENOSYS, mrc_post_send, (mrc_qp * qp, ibv_send_wr* wr, ibv_send_wr** bad), qp, wr, bad)
MRC_CALL(int, -1, mrc_get_async_event, (mrc_context * m, mrc_async_event* event), m, event)
MRC_CALL(void, , mrc_ack_async_event, (mrc_async_event * event), event)

// ---- mrc_ctl.h
MRC_VERSIONS(mrc_ctl_query_version)
MRC_CALL(int, -1, mrc_ctl_query_device, (ibv_context * c, mrc_ctl_device_attr* attr), c, attr)
MRC_CALL(int, -1, mrc_ctl_query_device_ex, (ibv_context * c, mrc_context* m, mrc_ctl_device_attr* attr, int* supported),
         c, m, attr, supported)
MRC_CALL(int, -1, mrc_ctl_query_port, (mrc_context * m, uint8_t port, mrc_ctl_port_attr* attr, int mask), m, port, attr,
         mask)
MRC_CALL(int, -1, mrc_ctl_modify_port, (mrc_context * m, uint8_t port, mrc_ctl_port_attr* attr, int mask), m, port,
         attr, mask)
MRC_CALL(int, -1, mrc_ctl_modify_ev_fmt_profile,
         (mrc_context * m, uint64_t id, mrc_ctl_ev_fmt_profile_attr* attr, int mask), m, id, attr, mask)
MRC_CALL(int, -1, mrc_ctl_query_ev_fmt_profile,
         (mrc_context * m, uint64_t id, mrc_ctl_ev_fmt_profile_attr* attr, int mask), m, id, attr, mask)
MRC_CALL(int, -1, mrc_ctl_modify_ev_profile, (mrc_context * m, uint64_t id, mrc_ctl_ev_profile_attr* attr, int mask), m,
         id, attr, mask)
MRC_CALL(int, -1, mrc_ctl_query_ev_profile, (mrc_context * m, uint64_t id, mrc_ctl_ev_profile_attr* attr, int mask), m,
         id, attr, mask)
MRC_CALL(int, -1, mrc_ctl_modify_cc_profile, (mrc_context * m, uint64_t id, mrc_ctl_cc_profile_attr* attr, int mask), m,
         id, attr, mask)
MRC_CALL(int, -1, mrc_ctl_query_cc_profile, (mrc_context * m, uint64_t id, mrc_ctl_cc_profile_attr* attr, int mask), m,
         id, attr, mask)
MRC_CALL(mrc_cq*, nullptr, mrc_ctl_create_ev_event_cq,
         (mrc_context * m, int cqe, void* of, mrc_comp_channel* channel, int vector), m, cqe, of, channel, vector)
MRC_CALL(int, -ENOSYS, mrc_ctl_poll_ev_event, (mrc_cq * cq, int n, mrc_ctl_ev_event* event), cq, n, event)
MRC_CALL(int, -1, mrc_ctl_ep_batch_send_wait,
         (mrc_context * m, uint8_t tc, mrc_ctl_ep_op_type op, mrc_ctl_ep_req* req, int n, uint32_t timeout,
          mrc_ctl_ep_rsp* rsp, int* n_rsp),
         m, tc, op, req, n, timeout, rsp, n_rsp)

#undef MRC_CALL
#undef MRC_VERSIONS

// Programs query a vendor's MRC library whether a device is an mlx5 one. Ours never are; for others libmlx5 is queried,
// if it is loaded.
bool mlx5dv_is_supported(ibv_device* device);
MRC_EXPORT bool mlx5dv_is_supported(ibv_device* device) {
  if (device == nullptr || mrc::shim::is_our_device(device)) return false;
  static const auto real = reinterpret_cast<bool (*)(ibv_device*)>(dlsym(RTLD_NEXT, "mlx5dv_is_supported"));
  return real != nullptr && real(device);
}

}  // extern "C"
