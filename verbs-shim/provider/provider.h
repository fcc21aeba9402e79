// The MRC library that the shim stands on, as a table: the 27 functions of mrc.h, the 14 of mrc_ctl.h, and those of
// mrc_soft.h that make devices, protection domains and memory regions where there is no RDMA hardware.
//
// The library is libmrc.so.1, or what the variable MRC_PROVIDER names. It is loaded when a program first asks for
// devices and stays loaded, so a program that never does is not touched. [VRB-PRV-1]
#pragma once

#include "mrc.h"
#include "mrc_ctl.h"
#include "mrc_soft.h"

namespace mrc::shim {

// clang-format off
#define MRC_SHIM_API(F)                                                                                                 \
  F(mrc_query_version) F(mrc_query_device) F(mrc_query_device_ex) F(mrc_create_context) F(mrc_destroy_context)          \
  F(mrc_create_comp_channel) F(mrc_get_comp_channel_fd) F(mrc_destroy_comp_channel) F(mrc_create_cq) F(mrc_poll_cq)     \
  F(mrc_req_notify_cq) F(mrc_get_cq_event) F(mrc_ack_cq_events) F(mrc_destroy_cq) F(mrc_create_qp_hint)                 \
  F(mrc_destroy_qp_hint) F(mrc_query_qp_hint) F(mrc_modify_qp_hint) F(mrc_create_qp) F(mrc_destroy_qp) F(mrc_query_qp)  \
  F(mrc_modify_qp) F(mrc_get_qpn) F(mrc_post_recv) F(mrc_post_send) F(mrc_get_async_event) F(mrc_ack_async_event)       \
  F(mrc_ctl_query_version) F(mrc_ctl_query_device) F(mrc_ctl_query_device_ex) F(mrc_ctl_modify_port)                    \
  F(mrc_ctl_query_port) F(mrc_ctl_modify_ev_fmt_profile) F(mrc_ctl_query_ev_fmt_profile) F(mrc_ctl_modify_ev_profile)   \
  F(mrc_ctl_query_ev_profile) F(mrc_ctl_modify_cc_profile) F(mrc_ctl_query_cc_profile) F(mrc_ctl_create_ev_event_cq)    \
  F(mrc_ctl_poll_ev_event) F(mrc_ctl_ep_batch_send_wait)
#define MRC_SHIM_SOFT(F)                                                                                                \
  F(mrc_soft_get_device_list) F(mrc_soft_free_device_list) F(mrc_soft_open_device) F(mrc_soft_close_device)             \
  F(mrc_soft_query_device) F(mrc_soft_query_port) F(mrc_soft_query_gid) F(mrc_soft_alloc_pd) F(mrc_soft_dealloc_pd)     \
  F(mrc_soft_reg_mr_iova) F(mrc_soft_dereg_mr) F(mrc_soft_set_mailbox) F(mrc_soft_resize_cq)
// clang-format on

struct Provider {
#define MRC_SHIM_MEMBER(name) decltype(&::name) name = nullptr;
  MRC_SHIM_API(MRC_SHIM_MEMBER)
  MRC_SHIM_SOFT(MRC_SHIM_MEMBER)
#undef MRC_SHIM_MEMBER
};

// The table, filled at the first call. Null when the library cannot be loaded or lacks a function: the reason was
// logged, once. Any thread.
const Provider* provider();

}  // namespace mrc::shim
